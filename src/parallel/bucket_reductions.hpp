// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/element_span.hpp>

namespace dtrain::parallel {

/// What ranks reduce gradients of this type by: sums, or for 16-bit types averages, which are rounded once.
constexpr Reduction reduction_of_gradients(DataType element) {
    return is_half(element) ? Reduction::average : Reduction::sum;
}

/// Reductions of buckets over ranks, in place, by reduction_of_gradients(). All ranks start them in the same
/// order.
class BucketReductions {
  public:
    /// @param buckets in memory that the communicator reaches
    BucketReductions(Communicator communicator, std::vector<ElementSpan> buckets);

    const Communicator& communicator() const { return communicator_; }
    const ElementSpan& bucket(std::size_t number) const { return buckets_[number]; }

    void start(std::size_t number);
    void wait(std::size_t number) { requests_[number].wait(); }
    /// start() and wait()
    void run(std::size_t number);

    /// MPI transfers data only while it is being called.
    void progress();

  private:
    Communicator communicator_;
    std::vector<ElementSpan> buckets_;
    std::vector<Request> requests_;  // by bucket; destroyed first, because they use communicator and memory
};

}  // namespace dtrain::parallel
