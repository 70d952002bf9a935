// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/data_parallel.hpp>
#include <dtrain/shared_buffer.hpp>

#include "parallel/bucket_memory.hpp"
#include "parallel/bucket_plan.hpp"
#include "parallel/bucket_reductions.hpp"

namespace dtrain::parallel {

/// Averages arrays over ranks in buckets that are filled as the arrays become ready: what GradientAveraging
/// does, for arrays on the host or on a GPU.
class BucketedAveraging {
  public:
    /// @param communicator allocates memory on the side on which the parameters are
    /// @param bucket_bytes 0: determined by timing. Collective.
    /// @throws UsageError as GradientAveraging
    BucketedAveraging(Communicator communicator, std::vector<ParameterBuffers> parameters,
                      std::int64_t bucket_bytes, std::unique_ptr<BucketMemory> memory);

    const Communicator& communicator() const { return reductions_.communicator(); }
    const std::vector<ParameterBuffers>& parameters() const { return parameters_; }
    std::int64_t bucket_bytes() const { return bucket_bytes_; }

    /// See GradientAveraging.
    void ready(std::size_t number);
    void finish();
    void average_values();

  private:
    /// Buckets, and the position of each parameter's array in their memory.
    struct Layout {
        std::vector<BucketPlan> buckets;
        std::vector<std::size_t> begins;  // offsets in bytes, by parameter

        Layout(std::span<const ExchangedArray> arrays, std::int64_t bucket_bytes);
        std::size_t bytes() const { return buckets.back().end; }
    };

    struct Gradient {
        std::size_t bucket = 0;
        ElementSpan memory = {};
        bool ready = false;
    };

    Layout layout_of_values(std::int64_t bucket_bytes) const;
    ElementSpan memory_at(std::size_t begin, const ElementSpan& elements) const;
    std::vector<ElementSpan> memory_of(const std::vector<BucketPlan>& buckets) const;
    void put_average(const ElementSpan& reduced, const ElementSpan& to);
    void start_complete_ones();

    std::vector<ParameterBuffers> parameters_;
    std::unique_ptr<BucketMemory> memory_;
    std::int64_t bucket_bytes_ = 0;
    SharedBuffer allocated_;  // memory in which reductions are fastest
    std::vector<Gradient> gradients_;
    std::vector<BucketPlan> buckets_;
    std::vector<std::size_t> missing_;  // number of gradients, by bucket
    std::size_t started_ = 0;           // number of started buckets
    BucketReductions reductions_;       // destroyed first, because they use the memory
};

}  // namespace dtrain::parallel
