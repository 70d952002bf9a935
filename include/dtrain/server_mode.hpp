// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

/// How trainers and parameter servers go together.
enum class ServerMode {
    /// A step of all trainers is one update, with the average of their gradients added in the trainers'
    /// order; the next step sees it. The bits are those of one process that accumulates the same batches.
    sync,
    /// A trainer's gradients are an update of their own as soon as they arrive, and it goes on with the
    /// parameters that it has: new ones come while it computes.
    async,
    /// As async, but no trainer is more than `staleness` steps ahead of another: with 0 all wait for each
    /// other's gradients at the end of each step, without their order being fixed.
    half_async,
    /// A trainer updates parameters of its own, and every so many steps adds its share of what has changed in
    /// them to those of the servers: the change divided by the number of trainers. It takes the others'
    /// changes when they come, while it goes on.
    geo,
};

/// How the numbers of gradients, parameters and rows travel between trainers and servers, which compute with
/// float32. The shorter ones are rounded to the nearest; what is finite stays finite.
enum class WireType { float32, float16, bfloat16 };

using WireNumbers [[deprecated("it is called WireType")]] = WireType;

/// "float32", "float16", "bfloat16"
std::string to_string(WireType type);

/// None when it is no such name.
std::optional<WireType> wire_type_of(std::string_view name);

/// "sync", "async", "half_async", "geo"
std::string to_string(ServerMode mode);

/// None when it is no mode's name.
std::optional<ServerMode> server_mode_of(std::string_view name);

}  // namespace dtrain
