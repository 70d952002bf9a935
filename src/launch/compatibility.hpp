// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launch/option_table.hpp"

/// How dtrain handles everything that Paddle's launchers read, write or do besides their options.
namespace dtrain::launch {

/// A variable of Paddle's launchers: read by them, or given to the processes.
struct PaddleVariable {
    std::string_view name;
    bool given = true;  ///< set for the processes; else read by the launcher
    Answer answer = Answer::done;
    std::string_view note;
};

std::span<const PaddleVariable> paddle_variables();

/// Something that Paddle's launchers do or write.
struct PaddleFeature {
    std::string_view what;
    Answer answer = Answer::done;
    std::string_view note;
};

std::span<const PaddleFeature> paddle_features();

/// docs/compatibility.md: options, variables, features.
std::string compatibility_markdown();

}  // namespace dtrain::launch
