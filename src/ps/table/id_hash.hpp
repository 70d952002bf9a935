// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/checksum.hpp"

namespace dtrain::ps {

/// The hash that places an id inside a table. Independent of server_of(), so that the ids of one server
/// spread evenly over its table.
constexpr std::uint64_t slot_hash(std::int64_t id) {
    return mixed(static_cast<std::uint64_t>(id));
}

/// The server, out of `servers` >= 1, that holds an id. All checkpoints and clients depend on it: it must
/// never change.
constexpr std::uint32_t server_of(std::int64_t id, std::uint32_t servers) {
    constexpr std::uint64_t salt = 0x6c62272e07bb0142U;
    const auto high = mixed(static_cast<std::uint64_t>(id) ^ salt) >> 32U;
    return static_cast<std::uint32_t>(high * servers >> 32U);
}

}  // namespace dtrain::ps
