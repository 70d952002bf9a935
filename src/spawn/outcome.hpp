// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/spawn_value.hpp>

namespace dtrain::spawning {

/// The function's results as bytes, by rank.
using Results = std::vector<std::string>;

struct Failure {
    int rank = -1;  ///< as in SpawnError
    std::string message;
    friend bool operator==(const Failure&, const Failure&) = default;
};

/// How the ranks of a call of spawn() ended.
using Outcome = std::variant<Results, Failure>;

/// The state of a call of spawn().
struct CallSoFar {
    int nprocs = 0;
    std::string refused;             ///< message of the UsageError that it threw; "": none
    std::optional<Outcome> outcome;  ///< none: its ranks are still running
    friend bool operator==(const CallSoFar&, const CallSoFar&) = default;
};

}  // namespace dtrain::spawning

namespace dtrain {

template <>
struct SpawnValue<spawning::CallSoFar> {
    using Fields =
        std::tuple<int, std::string, bool, spawning::Results, std::optional<std::pair<int, std::string>>>;

    static void write(const spawning::CallSoFar& call, std::string& bytes);
    static spawning::CallSoFar read(SpawnBytes& bytes);
};

}  // namespace dtrain
