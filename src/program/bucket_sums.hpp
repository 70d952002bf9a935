// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

#include "program/staged_buckets.hpp"

namespace dtrain::program {

/// Adds buckets of gradients over ranks, where they are.
class BucketSums {
  public:
    /// @param staged where the communicator cannot reach them; may be null
    BucketSums(Communicator communicator, std::vector<std::span<float>> buckets,
               std::unique_ptr<StagedBuckets> staged = nullptr);

    void start(std::size_t number);
    void wait(std::size_t number);
    /// start() and wait()
    void add(std::size_t number);

    /// In a graph, where the communicator can do that.
    void start_captured(std::size_t number);
    void wait_captured(std::size_t number);

    /// MPI moves data only while it is called.
    void progress() {
        for (auto& request : requests_)
            if (!request.complete()) request.test();
    }

  private:
    std::span<float> take(std::size_t number);
    void give_back(std::size_t number);

    Communicator communicator_;
    std::vector<std::span<float>> buckets_;
    std::unique_ptr<StagedBuckets> staged_;
    std::vector<std::size_t> forked_;  // by bucket
    std::vector<Request> requests_;    // by bucket; goes first, for it uses communicator and memory
};

}  // namespace dtrain::program
