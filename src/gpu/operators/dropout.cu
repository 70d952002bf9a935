// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.hpp"
#include "gpu/operators/dropped.hpp"
#include "gpu/operators/give.hpp"

namespace dtrain::gpu {
namespace {

/// Processes the four elements that share a block of random numbers.
template <class Real>
struct Dropout {
    const Real* x;
    Real* out;
    std::uint64_t count;
    Dropped dropped;
    Real kept;

    ON_DEVICE void operator()(std::size_t i) const {
        const std::uint64_t begin = dropped.begin();
        const std::uint64_t block = begin / 4 + i;
        const auto random = dropped.random(block);
        for (std::uint64_t number = 0; number < 4; ++number) {
            const std::uint64_t at = 4 * block + number - begin;  // wraps around before the first element
            if (at < count) out[at] = dropped.has(random.at(number)) ? Real(0) : x[at] * kept;
        }
    }
};

template <class Real>
std::unique_ptr<Kernel> make_dropout(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    const auto out = arguments.out<Real>("out");
    if (arguments.whole("is_test") != 0)
        return kernels::kernel_of(
            [&stream = context.stream, x, out] { copy(stream, out.data(), x.data(), x.size_bytes()); });
    const auto blocks = x.size() / 4 + 2;  // the first and the last block may be only partly used
    return kernel_for_each(context, blocks,
                           Dropout<Real>{x.data(), out.data(), x.size(), Dropped(arguments),
                                         static_cast<Real>(kept_factor(arguments))});
}

}  // namespace

Entries dropout_kernels() {
    return {{"dropout", by_type<make_dropout<float>, make_dropout<double>>}};
}

}  // namespace dtrain::gpu
