// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace dtrain::cluster {

/// What a job's ranks are to each other: --run_mode.
enum class RunMode {
    collective,
    parameter_server,
    heterogeneous,  ///< a parameter-server job with additional workers on other devices
    rpc,
};

struct NamedRunMode {
    RunMode value;
    std::string_view text;
};

/// In the order in which messages and --help name them.
inline constexpr std::array run_modes{
    NamedRunMode{RunMode::collective, "collective"}, NamedRunMode{RunMode::parameter_server, "ps"},
    NamedRunMode{RunMode::heterogeneous, "ps-heter"}, NamedRunMode{RunMode::rpc, "rpc"}};

}  // namespace dtrain::cluster
