// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Byte layout of the headers of messages and their sections. After a section's header come `payload` bytes:
/// ids if any, then floats.
namespace dtrain::ps {

inline constexpr std::uint32_t mark = 0x64745053;

struct HeaderBytes {
    std::uint32_t mark;
    std::uint16_t version;
    std::uint16_t kind;
    std::uint32_t steps;
    std::uint32_t numbers;  ///< 0: floats; else the WireType to which they are shortened
    std::int64_t step;
    std::uint64_t request;
};
static_assert(sizeof(HeaderBytes) == 32);

inline constexpr std::uint32_t reads_only_flag = 1;
inline constexpr std::uint32_t each_once_flag = 2;

struct SectionBytes {
    std::uint32_t table;
    std::uint32_t flags;
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t payload;
};
static_assert(sizeof(SectionBytes) == 32);

constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

}  // namespace dtrain::ps
