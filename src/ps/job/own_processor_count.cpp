// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/own_processor_count.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/host.hpp"

namespace dtrain::ps {
namespace {

// With more threads, the serial work that one thread does for the others dominates.
constexpr int max_threads = 8;

}  // namespace

int own_processor_count(std::span<const RankProcessors> ranks, std::size_t rank) {
    const auto& own = ranks[rank];
    const auto sharing = std::ranges::count_if(ranks, [&](const RankProcessors& other) {
        return other.host == own.host && other.processors.intersects(own.processors);
    });
    return std::max(1, own.processors.count() / std::max(1, static_cast<int>(sharing)));
}

int own_processor_count(const Communicator& world) {
    const auto gathered =
        world.all_gather(fmt::format("{} {}", CpuSet::of_this_thread().to_string(), host_name()));
    std::vector<RankProcessors> ranks;
    for (const auto& text : gathered) {
        const auto end = text.find(' ');
        ranks.push_back({text.substr(end + 1), CpuSet::parse(text.substr(0, end))});
    }
    return own_processor_count(ranks, static_cast<std::size_t>(world.rank()));
}

int table_threads(int wanted, int processors) {
    return wanted > 0 ? wanted : std::min(processors, max_threads);
}

}  // namespace dtrain::ps
