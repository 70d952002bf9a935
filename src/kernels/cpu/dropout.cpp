// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/loops/philox.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

const std::int64_t* counter_of(const KernelArguments& arguments, std::string_view slot) {
    return arguments.has_input(slot) ? arguments.in<std::int64_t>(slot).data() : nullptr;
}

std::uint64_t value_at(const std::int64_t* counter) {
    return counter != nullptr ? static_cast<std::uint64_t>(*counter) : 0;
}

// Operators of one program have different streams; the product keeps them apart from programs with adjacent
// seeds.
std::uint64_t key_of(std::int64_t seed, std::int64_t stream) {
    return static_cast<std::uint64_t>(seed) ^ (static_cast<std::uint64_t>(stream) * 0x9E3779B97F4A7C15U);
}

// The batch that x is, or is a slice of.
struct Whole {
    std::uint64_t size;
    std::uint64_t row_size;
    std::uint64_t first;  // index of x's first element in it
};

Whole whole_of(const KernelArguments& arguments) {
    const auto slice = arguments.slice.value_or(Slice{arguments.input("x").shape, 0});
    const auto size = static_cast<std::uint64_t>(element_count(slice.whole));
    return {size, size / static_cast<std::uint64_t>(slice.whole.front()), slice.first};
}

template <class Real>
std::unique_ptr<Kernel> make_dropout(const KernelArguments& arguments) {
    if (arguments.whole("is_test") != 0)
        return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out")] {
            std::ranges::copy(x, out.begin());
        });
    const auto probability = arguments.number("probability");
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out"),
                      step = counter_of(arguments, "step"), row = counter_of(arguments, "first_row"),
                      batch = counter_of(arguments, "batch"), whole = whole_of(arguments),
                      key = key_of(arguments.whole("seed"), arguments.whole("stream")),
                      dropped_below = static_cast<std::uint64_t>(std::ldexp(probability, 32)),
                      kept = static_cast<Real>(1.0 / (1.0 - probability))] {
        std::array<std::uint32_t, 256> random;
        // Index of this part's first element in the global batch.
        const std::uint64_t begin =
            value_at(row) * whole.row_size + value_at(batch) * whole.size + whole.first;
        const std::uint64_t end = begin + x.size();
        for (auto at = begin; at < end;) {
            const auto block = at / 4;
            const auto stop = std::min<std::uint64_t>(end, 4 * block + random.size());
            philox(key, value_at(step), block, random.data(), (stop - 4 * block + 3) / 4);
            for (; at < stop; ++at) {
                const auto i = at - begin;
                out[i] = random[at - 4 * block] < dropped_below ? Real(0) : x[i] * kept;
            }
        }
    });
}

}  // namespace

Entries dropout_kernels() {
    return {{"dropout", by_type<make_dropout<float>, make_dropout<double>>}};
}

}  // namespace dtrain::kernels
