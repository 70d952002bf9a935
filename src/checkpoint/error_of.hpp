// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace dtrain::checkpoint {

/// The message of the exception that `action` throws, for throw_together(); nothing if it does not throw.
template <class Action>
std::optional<std::string> error_of(const Action& action) {
    try {
        action();
    } catch (const std::exception& failed) {
        return failed.what();
    }
    return std::nullopt;
}

}  // namespace dtrain::checkpoint
