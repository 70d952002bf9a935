// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/reduce_loops.hpp"

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

/// In which sums and products wrap: signed ones like unsigned ones, and no factor becomes a signed int.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
[[gnu::always_inline]] inline T plus(T left, T right) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
    else
        return left + right;
}

template <class T>
[[gnu::always_inline]] inline T times(T left, T right) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
    else
        return left * right;
}

template <Reduction reduction, class T>
[[gnu::always_inline]] inline T reduced(T left, T right) {
    if constexpr (reduction == Reduction::min) return right < left ? right : left;
    if constexpr (reduction == Reduction::max) return left < right ? right : left;
    if constexpr (reduction == Reduction::product) return times(left, right);
    if constexpr (reduction == Reduction::bit_and) return static_cast<T>(left & right);
    if constexpr (reduction == Reduction::bit_or) return static_cast<T>(left | right);
    if constexpr (reduction == Reduction::bit_xor) return static_cast<T>(left ^ right);
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
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 keeps its sign
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
[[gnu::always_inline]] inline void reduce_numbers(Reduction reduction, Sources sources,
                                                  Destinations destinations, std::size_t count,
                                                  std::size_t ranks) {
    const auto divisor = static_cast<Sum>(ranks);
    switch (reduction) {
        case Reduction::average:
            return reduce<Reduction::average, T, Sum>(sources, destinations, count, divisor);
        case Reduction::min:
            return reduce<Reduction::min, T, Sum>(sources, destinations, count, divisor);
        case Reduction::max:
            return reduce<Reduction::max, T, Sum>(sources, destinations, count, divisor);
        case Reduction::product:
            return reduce<Reduction::product, T, Sum>(sources, destinations, count, divisor);
        default:  // check_reduction() refuses the others
            return reduce<Reduction::sum, T, Sum>(sources, destinations, count, divisor);
    }
}

/// Averages need the sum without wrapping: integers of less than 64 bits are added as wider ones.
template <class T>
[[gnu::always_inline]] inline void reduce_integers(Reduction reduction, Sources sources,
                                                   Destinations destinations, std::size_t count,
                                                   std::size_t ranks) {
    using Sum = std::conditional_t<sizeof(T) < sizeof(std::int64_t), std::int64_t, T>;
    switch (reduction) {
        case Reduction::sum:
            return reduce<Reduction::sum, T, T>(sources, destinations, count, 1);
        case Reduction::average:
            return reduce<Reduction::average, T, Sum>(sources, destinations, count, static_cast<Sum>(ranks));
        case Reduction::min:
            return reduce<Reduction::min, T, T>(sources, destinations, count, 1);
        case Reduction::max:
            return reduce<Reduction::max, T, T>(sources, destinations, count, 1);
        case Reduction::product:
            return reduce<Reduction::product, T, T>(sources, destinations, count, 1);
        case Reduction::bit_and:
            return reduce<Reduction::bit_and, T, T>(sources, destinations, count, 1);
        case Reduction::bit_or:
            return reduce<Reduction::bit_or, T, T>(sources, destinations, count, 1);
        case Reduction::bit_xor:
            return reduce<Reduction::bit_xor, T, T>(sources, destinations, count, 1);
    }
}

EACH_SET void reduce_float32(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce_numbers<float, float>(what, from, to, count, ranks);
}
EACH_SET void reduce_float64(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce_numbers<double, double>(what, from, to, count, ranks);
}
EACH_SET void reduce_float16(Reduction what, Sources from, Destinations to, std::size_t count,
                             std::size_t ranks) {
    reduce_numbers<float16, float>(what, from, to, count, ranks);
}
EACH_SET void reduce_bfloat16(Reduction what, Sources from, Destinations to, std::size_t count,
                              std::size_t ranks) {
    reduce_numbers<bfloat16, float>(what, from, to, count, ranks);
}
EACH_SET void reduce_int8(Reduction what, Sources from, Destinations to, std::size_t count,
                          std::size_t ranks) {
    reduce_integers<std::int8_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_int16(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    reduce_integers<std::int16_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_int32(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    reduce_integers<std::int32_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_int64(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    reduce_integers<std::int64_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_uint8(Reduction what, Sources from, Destinations to, std::size_t count,
                           std::size_t ranks) {
    reduce_integers<std::uint8_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_uint16(Reduction what, Sources from, Destinations to, std::size_t count,
                            std::size_t ranks) {
    reduce_integers<std::uint16_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_uint32(Reduction what, Sources from, Destinations to, std::size_t count,
                            std::size_t ranks) {
    reduce_integers<std::uint32_t>(what, from, to, count, ranks);
}
EACH_SET void reduce_uint64(Reduction what, Sources from, Destinations to, std::size_t count,
                            std::size_t ranks) {
    reduce_integers<std::uint64_t>(what, from, to, count, ranks);
}

template <class From, class To>
void convert_all(const std::byte* source, std::byte* destination, std::size_t count) {
    const auto* from = reinterpret_cast<const From*>(source);
    auto* to = reinterpret_cast<To*>(destination);
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<To>(from[i]);  // NOLINT(bugprone-signed-char-misuse): int8 keeps its sign
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
        case DataType::int8:
            return reduce_int8(reduction, sources, destinations, count, ranks);
        case DataType::int16:
            return reduce_int16(reduction, sources, destinations, count, ranks);
        case DataType::uint16:
            return reduce_uint16(reduction, sources, destinations, count, ranks);
        case DataType::uint32:
            return reduce_uint32(reduction, sources, destinations, count, ranks);
        case DataType::uint64:
            return reduce_uint64(reduction, sources, destinations, count, ranks);
    }
}

DataType wide_type(DataType element, Reduction reduction) {
    if (is_half(element)) return DataType::float32;
    const bool may_wrap = is_integer(element) && size_of(element) < sizeof(std::int64_t);
    return may_wrap && reduction == Reduction::average ? DataType::int64 : element;
}

void convert(DataType from, const std::byte* source, DataType to, std::byte* destination, std::size_t count) {
    const bool widens = size_of(from) < size_of(to);
    const auto between = [&]<class Narrow, class Wide>() {
        return widens ? convert_all<Narrow, Wide>(source, destination, count)
                      : convert_all<Wide, Narrow>(source, destination, count);
    };
    switch (widens ? from : to) {
        case DataType::float16:
            return between.operator()<float16, float>();
        case DataType::bfloat16:
            return between.operator()<bfloat16, float>();
        case DataType::int8:
            return between.operator()<std::int8_t, std::int64_t>();
        case DataType::int16:
            return between.operator()<std::int16_t, std::int64_t>();
        case DataType::int32:
            return between.operator()<std::int32_t, std::int64_t>();
        case DataType::uint8:
            return between.operator()<std::uint8_t, std::int64_t>();
        case DataType::uint16:
            return between.operator()<std::uint16_t, std::int64_t>();
        case DataType::uint32:
            return between.operator()<std::uint32_t, std::int64_t>();
        default:
            std::memcpy(destination, source, count * size_of(from));
    }
}

}  // namespace dtrain::comm
