// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "native/console.hpp"

namespace dtrain::native {

/// Returns the result of `prepare`. If it throws a UsageError on any rank, all ranks throw that of the lowest
/// such rank. Collective.
template <class Prepare>
auto agreed(const Communicator& world, const Prepare& prepare) {
    std::optional<decltype(prepare())> result;
    std::optional<std::string> error;
    try {
        result.emplace(prepare());
    } catch (const UsageError& refused) {
        error = refused.what();
    }
    const auto failed = world.sum(std::int64_t{error.has_value()});
    if (error && failed < world.size()) *error += fmt::format(" (rank {} on {})", world.rank(), host_name());
    throw_together(world, error);
    return std::move(*result);
}

/// Returns the result of `action`. If `action` throws a UsageError (on all ranks): when `may_be` is set,
/// prints it on the console and returns nothing, else rethrows it. Collective.
template <class Action>
std::optional<std::invoke_result_t<Action>> unless_refused(bool may_be, const Console& console,
                                                           const Action& action) {
    try {
        return action();
    } catch (const UsageError& refused) {
        if (!may_be) throw;
        console.complain(refused.what());
        return std::nullopt;
    }
}

}  // namespace dtrain::native
