// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/error.hpp>

namespace dtrain::tests {

/// What a call of `action` throws as Exception, or "" when it throws nothing.
template <class Exception = UsageError, class Action>
std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Exception& error) {
        return error.what();
    }
    return "";
}

}  // namespace dtrain::tests
