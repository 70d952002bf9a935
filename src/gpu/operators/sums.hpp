// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "gpu/operators/give.hpp"

/// Sums of many terms in an order that depends only on their number.
namespace dtrain::gpu {

template <class Real>
struct Elements {
    const Real* x;
    ON_DEVICE Real operator()(std::size_t i) const { return x[i]; }
};

template <class Real>
struct Products {
    const Real* x;
    const Real* y;
    ON_DEVICE Real operator()(std::size_t i) const { return x[i] * y[i]; }
};

/// Stores a sum, or a mean.
template <class Real>
struct Store {
    Real* out;
    Real divisor;
    ON_DEVICE void operator()(Real sum) const { *out = sum / divisor; }
};

/// Copies one number, divided, to all elements.
template <class Real>
struct Spread {
    const Real* value;
    Real divisor;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = *value / divisor; }
};

/// Multiplies elements by one number on the GPU.
template <class Real>
struct ScaledBy {
    const Real* x;
    const Real* factor;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = *factor * x[i]; }
};

/// The sum of the terms [begin, end), returned to all threads of a block.
template <class Real, class Terms>
ON_GPU Real sum_of(const Block& block, const Terms& terms, std::size_t begin, std::size_t end) {
    Real sum = 0;
    for (std::size_t i = begin + block.thread(); i < end; i += block.threads()) sum += terms(i);
    return block.sum(sum);
}

/// Sums each block's part of the terms.
template <class Real, class Terms>
struct PartialSums {
    Terms terms;
    std::size_t count;
    std::size_t per_block;
    Real* sums;

    ON_GPU void operator()(const Block& block) const {
        const auto begin = std::size_t{block.number()} * per_block;
        const auto end = begin + per_block < count ? begin + per_block : count;
        const Real sum = sum_of<Real>(block, terms, begin, end);
        if (block.thread() == 0) sums[block.number()] = sum;
    }
};

/// One block that calls finish(sum) in one thread.
template <class Real, class Terms, class Finish>
struct FinishedSum {
    Terms terms;
    std::size_t count;
    Finish finish;

    ON_GPU void operator()(const Block& block) const {
        const Real sum = sum_of<Real>(block, terms, 0, count);
        if (block.thread() == 0) finish(sum);
    }
};

/// Partial sums of many terms, for a kernel that needs their sum.
template <class Real>
class Partials {
  public:
    explicit Partials(std::size_t terms)
        : count_(std::min<std::size_t>((terms + smallest - 1) / smallest, 256)),
          per_block_((terms + count_ - 1) / count_),
          memory_(allocate(count_ * sizeof(Real))) {}

    template <class Terms>
    void run(const Stream& stream, const Terms& terms, std::size_t count) const {
        launch(stream, count_, threads_for(per_block_),
               PartialSums<Real, Terms>{terms, count, per_block_, data()});
    }

    Real* data() const { return reinterpret_cast<Real*>(memory_.get()); }
    std::size_t count() const { return count_; }

  private:
    static constexpr std::size_t smallest = 2048;  // minimum number of terms per block

    std::size_t count_;
    std::size_t per_block_;
    DeviceMemory memory_;
};

/// Calls finish(sum of terms(i) for all i < count) once.
template <class Real, class Terms, class Finish>
std::unique_ptr<Kernel> kernel_of_sum(KernelContext& context, std::size_t count, const Terms& terms,
                                      const Finish& finish) {
    constexpr std::size_t most = 1024;    // maximum number of threads per block
    constexpr std::size_t of_one = 8192;  // up to this many terms one block is faster than two kernels
    if (count <= of_one)
        return kernel_of_blocks(context, 1, threads_for(count, most),
                                FinishedSum<Real, Terms, Finish>{terms, count, finish});
    return kernels::kernel_of(
        [&stream = context.stream, count, terms, finish, partials = Partials<Real>(count)] {
            partials.run(stream, terms, count);
            launch(stream, 1, threads_for(partials.count(), most),
                   FinishedSum<Real, Elements<Real>, Finish>{{partials.data()}, partials.count(), finish});
        });
}

}  // namespace dtrain::gpu
