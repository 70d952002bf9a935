// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {
namespace {

/// Four random numbers, those of kernels/philox.hpp.
struct RandomBlock {
    std::uint32_t c0;
    std::uint32_t c1;
    std::uint32_t c2;
    std::uint32_t c3;
};

ON_DEVICE std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}

ON_DEVICE std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

ON_DEVICE RandomBlock philox(std::uint64_t key, std::uint64_t step, std::uint64_t block) {
    RandomBlock c{low(block), high(block), low(step), high(step)};
    std::uint32_t k0 = low(key);
    std::uint32_t k1 = high(key);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = 0xD2511F53ULL * c.c0;
        const std::uint64_t product1 = 0xCD9E8D57ULL * c.c2;
        c = {high(product1) ^ c.c1 ^ k0, low(product1), high(product0) ^ c.c3 ^ k1, low(product0)};
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return c;
}

/// Operators of one program have different streams; seeds of neighbouring programs must not meet them.
std::uint64_t key_of(std::int64_t seed, std::int64_t stream) {
    return static_cast<std::uint64_t>(seed) ^ (static_cast<std::uint64_t>(stream) * 0x9E3779B97F4A7C15U);
}

/// A number on the GPU; none: 0.
struct Counter {
    const std::int64_t* place;

    Counter(const KernelArguments& arguments, std::string_view slot)
        : place(arguments.has_input(slot) ? arguments.in<std::int64_t>(slot).data() : nullptr) {}

    ON_DEVICE std::uint64_t operator()() const {
        return place != nullptr ? static_cast<std::uint64_t>(*place) : 0;
    }
};

/// For each four elements that have one block of random numbers.
template <class Real>
struct Dropout {
    const Real* x;
    Real* out;
    std::uint64_t count;
    Counter step;
    Counter first_row;
    Counter batch;
    std::uint64_t size;      ///< of the batch that x is, or is cut from
    std::uint64_t row_size;  ///< of it
    std::uint64_t first;     ///< element of it that x begins with
    std::uint64_t key;
    std::uint64_t dropped_below;
    Real kept;

    ON_DEVICE void operator()(std::size_t i) const {
        // This part's place in the global batch.
        const std::uint64_t begin = first_row() * row_size + batch() * size + first;
        const std::uint64_t block = begin / 4 + i;
        const auto random = philox(key, step(), block);
        store(4 * block - begin, random.c0);
        store(4 * block + 1 - begin, random.c1);
        store(4 * block + 2 - begin, random.c2);
        store(4 * block + 3 - begin, random.c3);
    }

    /// What is before the first element is a very large number here.
    ON_DEVICE void store(std::uint64_t at, std::uint32_t random) const {
        if (at < count) out[at] = random < dropped_below ? Real(0) : x[at] * kept;
    }
};

template <class Real>
std::unique_ptr<Kernel> make_dropout(Workshop& workshop, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    const auto out = arguments.out<Real>("out");
    if (arguments.whole("is_test") != 0)
        return kernels::kernel_of(
            [&stream = workshop.stream, x, out] { copy(stream, out.data(), x.data(), x.size_bytes()); });
    const auto slice = arguments.slice.value_or(kernels::Slice{arguments.input("x").shape, 0});
    const auto size = static_cast<std::uint64_t>(element_count(slice.whole));
    const auto probability = arguments.number("probability");
    const auto blocks = x.size() / 4 + 2;  // the first and the last may be of others, too
    return kernel_for_each(workshop, blocks,
                           Dropout<Real>{x.data(), out.data(), x.size(), Counter(arguments, "step"),
                                         Counter(arguments, "first_row"), Counter(arguments, "batch"), size,
                                         size / static_cast<std::uint64_t>(slice.whole.front()), slice.first,
                                         key_of(arguments.whole("seed"), arguments.whole("stream")),
                                         static_cast<std::uint64_t>(std::ldexp(probability, 32)),
                                         static_cast<Real>(1.0 / (1.0 - probability))});
}

}  // namespace

Entries dropout_kernels() {
    return {{"dropout", by_type<make_dropout<float>, make_dropout<double>>}};
}

}  // namespace dtrain::gpu
