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

/// Where a rank may run.
struct RankProcessors {
    std::string host;
    CpuSet processors;
};

/// How many processors a rank has for itself: its own divided by the ranks of its host that may run on one of
/// them, itself included; at least 1. So all ranks of a host together have no more than there are, as long
/// as there are no more ranks.
int processor_share(std::span<const RankProcessors> ranks, std::size_t rank);

/// The same of this rank as the operating system says it. Collective.
int processor_share(const Communicator& world);

/// @param wanted 0: as many as are of use
int table_threads(int wanted, int processors);

}  // namespace dtrain::ps
