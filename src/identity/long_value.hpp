// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// Maximum length of a variable's value: the kernel refuses to pass a single "NAME=value" of 128 KiB or more
/// to exec (MAX_ARG_STRLEN, execve(2)); Paddle uses the same margin.
inline constexpr std::size_t max_value = 120 * 1024;

/// Sets a variable of any length: the rest of a long value is stored in NAME_2, NAME_3 and so on.
void set_long(Environment& environment, const std::string& name, const std::string& value);

/// The value stored by set_long.
std::optional<std::string> get_long(const Environment& environment, const std::string& name);

/// Removes NAME_2 and so on.
void unset_continuations(Environment& environment, const std::string& name);

}  // namespace dtrain::cluster
