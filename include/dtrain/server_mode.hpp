// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

/// How trainers and parameter servers are synchronised.
enum class ServerMode {
    /// A step of all trainers is one update, with the average of their gradients added in trainer order; the
    /// next step uses the result. Bitwise identical to one process that accumulates the same batches.
    sync,
    /// Each trainer's gradients are applied as a separate update as soon as they arrive; the trainer
    /// continues with the parameters that it has, and new ones arrive while it computes.
    async,
    /// As async, but no trainer is more than `staleness` steps ahead of another: with 0 all wait for each
    /// other's gradients at the end of each step, in no fixed order.
    half_async,
    /// A trainer updates its own parameters and periodically adds its fraction of the changes to the
    /// parameters of the servers: the change divided by the number of trainers. It applies the others'
    /// changes
    /// as they arrive, while it continues.
    geo,
};

/// How gradients, parameters and rows are encoded in messages between trainers and servers, which compute in
/// float32. The 16-bit types round to nearest; finite values stay finite.
enum class WireType { float32, float16, bfloat16 };

/// WireType
using WireNumbers [[deprecated("it is called WireType")]] = WireType;

/// "float32", "float16", "bfloat16"
std::string to_string(WireType type);

/// None if the name is unknown.
std::optional<WireType> wire_type_of(std::string_view name);

/// "sync", "async", "half_async", "geo"
std::string to_string(ServerMode mode);

/// None if the name is unknown.
std::optional<ServerMode> server_mode_of(std::string_view name);

}  // namespace dtrain
