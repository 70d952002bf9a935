// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

#include "kernels/host_copy.hpp"
#include "parallel/bucket_reductions.hpp"

namespace dtrain::program {

/// Sums buckets of gradients over ranks, in place.
class BucketSums {
  public:
    /// @param copies of the buckets, if the communicator cannot access them
    BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
               std::optional<kernels::HostCopy> copies = std::nullopt);

    void start(std::size_t number);
    void wait(std::size_t number);
    /// start() and wait()
    void add(std::size_t number);

    /// Part of a captured graph, if the communicator supports that.
    void start_captured(std::size_t number);
    void wait_captured(std::size_t number);

    /// MPI transfers data only while it is being called.
    void progress() { reductions_.progress(); }

  private:
    void bring(std::size_t number);
    void give_back(std::size_t number);

    std::vector<std::span<float>> buckets_;
    std::optional<kernels::HostCopy> copies_;
    std::vector<std::size_t> forked_;        // by bucket
    parallel::BucketReductions reductions_;  // destroyed first, because they use the copies
};

}  // namespace dtrain::program
