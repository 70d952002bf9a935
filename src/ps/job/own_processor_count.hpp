// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/cpuset.hpp>

namespace dtrain::ps {

/// The processors that a rank may run on.
struct RankProcessors {
    std::string host;
    CpuSet processors;
};

/// How many processors a rank may count as its own: its processors divided by the number of ranks of its host
/// that may run on one of them, including itself; at least 1. So all ranks of a host together use no more
/// processors than there are, unless there are more ranks than processors.
int own_processor_count(std::span<const RankProcessors> ranks, std::size_t rank);

/// The same for this rank, with the affinity from the operating system. Collective.
int own_processor_count(const Communicator& world);

/// The number of threads for tables. @param wanted 0: as many as are useful
int table_threads(int wanted, int processors);

}  // namespace dtrain::ps
