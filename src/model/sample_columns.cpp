// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/sample_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <dtrain/dataset.hpp>

#include "model/sample_feeder.hpp"

namespace dtrain::model {
namespace {

DataType type_of(const SampleValues& values) {
    return values.values.index() == 0 ? DataType::float32 : DataType::int64;
}

std::span<const std::byte> bytes_of(const SampleValues& values) {
    return std::visit([](const auto& span) { return std::as_bytes(span); }, values.values);
}

const SampleValues* find(const Samples& samples, const std::string& name) {
    const auto at = std::ranges::find(samples.values(), name, &SampleValues::name);
    return at == samples.values().end() ? nullptr : &*at;
}

/// Values that are in memory for all samples.
class ColumnFeeder final : public train::Feeder {
  public:
    ColumnFeeder(const Samples& samples, std::vector<SampleSpec> specs, Fed fed,
                 const DistributedSampler::Options& sampling)
        : train::Feeder(sampling), specs_(std::move(specs)), fed_(fed) {
        for (const auto& spec : specs_) {
            const auto values = bytes_of(*find(samples, spec.name));
            columns_.push_back(
                {values, static_cast<std::size_t>(element_count(spec.shape)) * size_of(spec.type)});
        }
    }

    void bind(Executor& executor) override {
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            const auto& [name, shape, type] = specs_[i];
            columns_[i].fed = type == DataType::float32
                                  ? std::as_writable_bytes(executor.feed<float>(name))
                                  : std::as_writable_bytes(executor.feed<std::int64_t>(name));
        }
        if (fed_ == Fed::all) weight_ = executor.feed<float>(fed_weight);
    }

    void feed() override {
        const auto batch = next_batch();
        for (const auto& [values, sample_bytes, fed] : columns_)
            for (std::size_t row = 0; row < batch.samples.size(); ++row)
                std::memcpy(fed.data() + row * sample_bytes,
                            values.data() + static_cast<std::size_t>(batch.samples[row]) * sample_bytes,
                            sample_bytes);
        if (fed_ == Fed::all) std::ranges::copy(batch.weights, weight_.begin());
    }

  private:
    struct Column {
        std::span<const std::byte> values;
        std::size_t sample_bytes = 0;
        std::span<std::byte> fed = {};
    };

    std::vector<SampleSpec> specs_;
    Fed fed_;
    std::vector<Column> columns_;
    std::span<float> weight_;
};

std::vector<SampleSpec> specs_of(const ModelSpec& spec, Fed fed) {
    auto specs = spec.inputs;
    if (fed == Fed::all) specs.insert(specs.end(), spec.labels.begin(), spec.labels.end());
    return specs;
}

std::string shape_text(const SampleSpec& spec) {
    return fmt::format("{} {} of {}", element_count(spec.shape), to_string(spec.type), to_string(spec.shape));
}

std::int64_t checked_source(const DataSource& source, const ModelSpec& spec, Fed fed) {
    const auto& input = spec.inputs.front();
    if (spec.inputs.size() != 1)
        throw SampleError(
            fmt::format("a data source has values for one input, but the model has {}; give spans "
                        "for each by name",
                        spec.inputs.size()),
            input.name);
    if (input.type != DataType::float32 || element_count(input.shape) != source.features())
        throw SampleError(
            fmt::format("the samples have {} float32 values each, but the model's input '{}' is {}",
                        source.features(), input.name, shape_text(input)),
            input.name);
    if (fed == Fed::inputs) return source.size();
    const bool fits =
        spec.labels.size() == 1 && spec.labels[0].type == DataType::int64 && spec.labels[0].shape.empty();
    if (fits) return source.size();
    if (spec.labels.size() != 1)
        throw SampleError(
            fmt::format("a data source has one label a sample, but the model has {}", spec.labels.size()),
            "");
    throw SampleError(
        fmt::format(
            "a data source has a class number for each sample, but the model's label '{}' is {}; give "
            "spans by name",
            spec.labels[0].name, shape_text(spec.labels[0])),
        spec.labels[0].name);
}

/// @param expected number of samples of the other variables, or none yet
std::int64_t checked_values(const Samples& samples, const SampleSpec& spec,
                            const std::optional<std::int64_t>& expected) {
    const auto* const given = find(samples, spec.name);
    if (given == nullptr)
        throw SampleError(
            fmt::format("there are no values for the model's '{}' ({})", spec.name, shape_text(spec)),
            spec.name);
    if (type_of(*given) != spec.type)
        throw SampleError(fmt::format("the values of '{}' are {}, but the model has {}", spec.name,
                                      to_string(type_of(*given)), to_string(spec.type)),
                          spec.name);
    const auto values = static_cast<std::int64_t>(bytes_of(*given).size() / size_of(spec.type));
    const auto each = element_count(spec.shape);
    if (values % each != 0)
        throw SampleError(fmt::format("'{}' has {} values, which are no whole samples: a sample has {}",
                                      spec.name, values, shape_text(spec)),
                          spec.name);
    if (expected && values / each != *expected)
        throw SampleError(fmt::format("'{}' has values for {} samples, but there are {}", spec.name,
                                      values / each, *expected),
                          spec.name);
    return values / each;
}

std::int64_t count_of(const Samples& samples, const ModelSpec& spec, Fed fed) {
    if (samples.source() != nullptr) return checked_source(*samples.source(), spec, fed);
    const auto specs = specs_of(spec, Fed::all);
    for (const auto& given : samples.values())
        if (std::ranges::find(specs, given.name, &SampleSpec::name) == specs.end())
            throw SampleError(
                fmt::format("there are values for '{}', but the model has no such input or label",
                            given.name),
                given.name);
    std::optional<std::int64_t> count;
    for (const auto& each : specs_of(spec, fed)) count = checked_values(samples, each, count);
    return count.value();
}

}  // namespace

std::int64_t checked_count(const Samples& samples, const ModelSpec& spec, Fed fed) {
    const auto count = count_of(samples, spec, fed);
    if (count == 0) throw SampleError("there are no samples", spec.inputs.front().name);
    return count;
}

std::unique_ptr<train::Feeder> feeder_of(const Samples& samples, const ModelSpec& spec, Fed fed,
                                         const DistributedSampler::Options& sampling) {
    if (samples.source() == nullptr)
        return std::make_unique<ColumnFeeder>(samples, specs_of(spec, fed), fed, sampling);
    FedNames names{.x = spec.inputs.front().name};
    if (fed == Fed::all) {
        names.label = spec.labels.front().name;
        names.weight = fed_weight;
    }
    // Not owned: the caller's, which outlives the feeder.
    const std::shared_ptr<const DataSource> source(std::shared_ptr<const void>(), samples.source());
    return std::make_unique<SampleFeeder>(source, sampling, names);
}

}  // namespace dtrain::model
