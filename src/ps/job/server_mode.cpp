// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include <dtrain/server_mode.hpp>

namespace dtrain {
namespace {

constexpr std::array<std::pair<std::string_view, ServerMode>, 4> modes{
    {{"sync", ServerMode::sync},
     {"async", ServerMode::async},
     {"half_async", ServerMode::half_async},
     {"geo", ServerMode::geo}}};

}  // namespace

std::string to_string(ServerMode mode) {
    const auto* const found =
        std::ranges::find(modes, mode, &std::pair<std::string_view, ServerMode>::second);
    return std::string(found->first);
}

std::optional<ServerMode> server_mode_of(std::string_view name) {
    const auto* const found = std::ranges::find(modes, name, &std::pair<std::string_view, ServerMode>::first);
    return found == modes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace dtrain
