// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <dtrain/program.hpp>

namespace dtrain::program {

inline constexpr double no_limit = 1e30;
inline constexpr double above_zero = 1e-30;

/// @throws ProgramError unless min <= value < below. `what` names the owner of the setting.
inline void check_setting(std::string_view what, std::string_view name, double value, double min,
                          double below) {
    if (!(value >= min && value < below))
        throw ProgramError(
            fmt::format("{}: {} is {}, expected {} <= {} < {}", what, name, value, min, name, below), "", "");
}

}  // namespace dtrain::program
