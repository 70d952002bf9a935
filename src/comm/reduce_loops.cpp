// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/reduce_loops.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

// One function, several bodies: the dynamic loader selects the widest instruction set that the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define EACH_SET __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define EACH_SET
#endif

namespace dtrain::comm {
namespace {

using Sources = std::span<const std::byte* const>;
using Destinations = std::span<std::byte* const>;

// Partial results of this many elements stay in the first-level cache between the sources.
constexpr std::size_t block = 1024;

// Signed sums wrap like unsigned ones.
template <class T>
[[gnu::always_inline]] inline T plus(T left, T right) {
    if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
    } else {
        return left + right;
    }
}

template <Reduction reduction, class T>
[[gnu::always_inline]] inline T reduced(T left, T right) {
    if constexpr (reduction == Reduction::min) return right < left ? right : left;
    if constexpr (reduction == Reduction::max) return left < right ? right : left;
    return plus(left, right);
}

template <Reduction reduction, class T, class Sum>
[[gnu::always_inline]] inline void reduce(Sources sources, Destinations destinations, std::size_t count,
                                          [[maybe_unused]] Sum ranks) {
    const auto finished = [ranks](Sum sum) {
        if constexpr (reduction == Reduction::average) return static_cast<T>(sum / ranks);
        return static_cast<T>(sum);
    };
    if (sources.size() == 2 && destinations.size() <= 2) {
        const auto* left = reinterpret_cast<const T*>(sources[0]);
        const auto* right = reinterpret_cast<const T*>(sources[1]);
        auto* to = reinterpret_cast<T*>(destinations[0]);
        auto* too = reinterpret_cast<T*>(destinations[destinations.size() - 1]);
        if (to == too) {
#pragma GCC ivdep
            for (std::size_t i = 0; i < count; ++i)
                to[i] = finished(reduced<reduction>(static_cast<Sum>(left[i]), static_cast<Sum>(right[i])));
        } else {
#pragma GCC ivdep
            for (std::size_t i = 0; i < count; ++i)
                to[i] = too[i] =
                    finished(reduced<reduction>(static_cast<Sum>(left[i]), static_cast<Sum>(right[i])));
        }
        return;
    }
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t length = std::min(block, count - begin);
        Sum sums[block];
        const auto* first = reinterpret_cast<const T*>(sources[0]) + begin;
        for (std::size_t i = 0; i < length; ++i) sums[i] = static_cast<Sum>(first[i]);
        for (const auto* source : sources.subspan(1)) {
            const auto* values = reinterpret_cast<const T*>(source) + begin;
            for (std::size_t i = 0; i < length; ++i)
                sums[i] = reduced<reduction>(sums[i], static_cast<Sum>(values[i]));
        }
        auto* to = reinterpret_cast<T*>(destinations[0]) + begin;
        for (std::size_t i = 0; i < length; ++i) to[i] = finished(sums[i]);
        for (auto* destination : destinations.subspan(1))
            std::memcpy(reinterpret_cast<T*>(destination) + begin, to, length * sizeof(T));
    }
}

template <class T, class Sum>
[[gnu::always_inline]] inline void reduce(Reduction reduction, Sources sources, Destinations destinations,
                                          std::size_t count, std::size_t ranks) {
    const auto divisor = static_cast<Sum>(ranks);
    switch (reduction) {
        case Reduction::sum:
            return reduce<Reduction::sum, T, Sum>(sources, destinations, count, divisor);
        case Reduction::average:
            return reduce<Reduction::average, T, Sum>(sources, destinations, count, divisor);
        case Reduction::min:
            return reduce<Reduction::min, T, Sum>(sources, destinations, count, divisor);
        case Reduction::max:
            return reduce<Reduction::max, T, Sum>(sources, destinations, count, divisor);
    }
}

EACH_SET void reduce_float32(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce<float, float>(what, from, to, count, ranks);
}
EACH_SET void reduce_float64(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce<double, double>(what, from, to, count, ranks);
}
EACH_SET void reduce_float16(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce<float16, float>(what, from, to, count, ranks);
}
EACH_SET void reduce_bfloat16(Reduction what, Sources from, Destinations to, std::size_t count,
                              std::size_t ranks) {
    reduce<bfloat16, float>(what, from, to, count, ranks);
}
// Averages need the sum without wrapping, so integers are added as wider ones.
EACH_SET void reduce_int32(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    if (what == Reduction::average)
        reduce<Reduction::average, std::int32_t, std::int64_t>(from, to, count,
                                                               static_cast<std::int64_t>(ranks));
    else
        reduce<std::int32_t, std::int32_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_int64(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    reduce<std::int64_t, std::int64_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_uint8(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    if (what == Reduction::average)
        reduce<Reduction::average, std::uint8_t, std::int64_t>(from, to, count,
                                                               static_cast<std::int64_t>(ranks));
    else
        reduce<std::uint8_t, std::uint8_t>(what, from, to, count, ranks);
}

template <class From, class To>
void convert_all(const std::byte* source, std::byte* destination, std::size_t count) {
    const auto* from = reinterpret_cast<const From*>(source);
    auto* to = reinterpret_cast<To*>(destination);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void ReduceLoop::operator()(Sources sources, Destinations destinations, std::size_t count) const {
    switch (element) {
        case DataType::float32:
            return reduce_float32(reduction, sources, destinations, count, ranks);
        case DataType::float64:
            return reduce_float64(reduction, sources, destinations, count, ranks);
        case DataType::float16:
            return reduce_float16(reduction, sources, destinations, count, ranks);
        case DataType::bfloat16:
            return reduce_bfloat16(reduction, sources, destinations, count, ranks);
        case DataType::int32:
            return reduce_int32(reduction, sources, destinations, count, ranks);
        case DataType::int64:
            return reduce_int64(reduction, sources, destinations, count, ranks);
        case DataType::uint8:
            return reduce_uint8(reduction, sources, destinations, count, ranks);
    }
}

DataType wide_type(DataType element, Reduction reduction) {
    switch (element) {
        case DataType::float16:
        case DataType::bfloat16:
            return DataType::float32;
        case DataType::int32:
        case DataType::uint8:
            return reduction == Reduction::average ? DataType::int64 : element;
        default:
            return element;
    }
}

void convert(DataType from, const std::byte* source, DataType to, std::byte* destination, std::size_t count) {
    const bool widens = size_of(from) < size_of(to);
    switch (widens ? from : to) {
        case DataType::float16:
            return widens ? convert_all<float16, float>(source, destination, count)
                          : convert_all<float, float16>(source, destination, count);
        case DataType::bfloat16:
            return widens ? convert_all<bfloat16, float>(source, destination, count)
                          : convert_all<float, bfloat16>(source, destination, count);
        case DataType::int32:
            return widens ? convert_all<std::int32_t, std::int64_t>(source, destination, count)
                          : convert_all<std::int64_t, std::int32_t>(source, destination, count);
        case DataType::uint8:
            return widens ? convert_all<std::uint8_t, std::int64_t>(source, destination, count)
                          : convert_all<std::int64_t, std::uint8_t>(source, destination, count);
        default:
            std::memcpy(destination, source, count * size_of(from));
    }
}

}  // namespace dtrain::comm
