// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Entry point of the module, see prometheus_module.hpp.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "scrape/prometheus_module.hpp"

namespace dtrain::scrape {
namespace {

prometheus::ClientMetric::Histogram of_library(const Histogram& histogram) {
    prometheus::ClientMetric::Histogram out;
    out.sample_count = histogram.count;
    out.sample_sum = histogram.sum;
    for (const auto& [bound, count] : histogram.buckets) out.bucket.push_back({count, bound});
    return out;
}

prometheus::ClientMetric of_library(const Sample& sample, Family::Type type) {
    prometheus::ClientMetric out;
    for (const auto& [name, value] : sample.labels) out.label.push_back({name, value});
    if (const auto* number = std::get_if<double>(&sample.value)) {
        (type == Family::Type::counter ? out.counter.value : out.gauge.value) = *number;
    } else {
        out.histogram = of_library(std::get<Histogram>(sample.value));
    }
    return out;
}

prometheus::MetricType of_library(Family::Type type) {
    switch (type) {
        case Family::Type::counter:
            return prometheus::MetricType::Counter;
        case Family::Type::gauge:
            return prometheus::MetricType::Gauge;
        case Family::Type::histogram:
            break;
    }
    return prometheus::MetricType::Histogram;
}

class PrometheusLibrary final : public PrometheusModule {
  public:
    std::string text(std::span<const Family> families) const override {
        std::vector<prometheus::MetricFamily> all;
        for (const auto& family : families) {
            auto& out = all.emplace_back();
            out.name = family.name;
            out.help = family.help;
            out.type = of_library(family.type);
            for (const auto& sample : family.samples) out.metric.push_back(of_library(sample, family.type));
        }
        return prometheus::TextSerializer().Serialize(all);
    }
};

}  // namespace
}  // namespace dtrain::scrape

extern "C" __attribute__((visibility("default"))) const dtrain::scrape::PrometheusModule*
dtrain_open_prometheus() {
    static const dtrain::scrape::PrometheusLibrary library;
    return &library;
}
