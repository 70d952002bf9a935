// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/gather_gpu_use.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace dtrain::model {
namespace {

constexpr std::size_t figures = 6;

double sent(const std::optional<double>& value) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::optional<double> received(double value) {
    return std::isnan(value) ? std::nullopt : std::optional(value);
}

}  // namespace

GpuFigures gather_gpu_use(const Communicator& ranks, topology::GpuWatch& watch, int first) {
    const auto all = watch.use();
    const auto since_last = watch.use_since_last();
    const std::array<double, figures> own{
        sent(all.utilization),        sent(all.watts),       sent(all.memory), sent(all.celsius),
        sent(since_last.utilization), sent(since_last.watts)};
    std::vector<double> of_all(figures * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(std::span<const double>(own), std::span<double>(of_all));

    GpuFigures gathered;
    double utilization = 0, watts = 0;
    int utilizations = 0, powers = 0;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto* const reported = of_all.data() + figures * static_cast<std::size_t>(rank);
        const metrics::RankGpus gpus{first + rank, received(reported[0]), received(reported[1]),
                                     received(reported[2]), received(reported[3])};
        if (gpus != metrics::RankGpus{.rank = first + rank}) gathered.ranks.push_back(gpus);
        if (const auto value = received(reported[4])) {
            utilization += *value;
            ++utilizations;
        }
        if (const auto value = received(reported[5])) {
            watts += *value;
            ++powers;
        }
    }
    if (utilizations > 0) gathered.values.push_back({"gpu_utilization", utilization / utilizations});
    if (powers > 0) gathered.values.push_back({"gpu_watts", watts});
    return gathered;
}

}  // namespace dtrain::model
