// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/checksum.hpp"

namespace dtrain::ps {

/// Says where an id lies inside a table. Unrelated to server_of(), so that what one server gets fills all of
/// its table evenly.
constexpr std::uint64_t slot_hash(std::int64_t id) {
    return mixed(static_cast<std::uint64_t>(id));
}

/// Which of `servers` >= 1 servers has an id. Part of every checkpoint's and every client's contract: never
/// changed.
constexpr std::uint32_t server_of(std::int64_t id, std::uint32_t servers) {
    constexpr std::uint64_t salt = 0x6c62272e07bb0142U;
    const auto high = mixed(static_cast<std::uint64_t>(id) ^ salt) >> 32U;
    return static_cast<std::uint32_t>(high * servers >> 32U);
}

}  // namespace dtrain::ps
