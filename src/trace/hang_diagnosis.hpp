// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/rank_state.hpp"

namespace dtrain::trace {

/// Why ranks wait, and for whom.
struct HangDiagnosis {
    enum class Cause {
        not_started,  ///< no worker of the culprits has told anything
        absent,       ///< the culprits have not called what the others wait in
        has_ended,    ///< they ended without calling it
        stopped,      ///< a signal has stopped them
        in_kernel,    ///< they are in an uninterruptible system call
        sequence,     ///< they called another operation, or the same with other arguments
        circle,       ///< they wait for each other
        exchange,     ///< all have called the operation, and its data do not come
        unknown,      ///< nothing tells
    };

    Cause cause = Cause::unknown;
    std::vector<int> culprits = {};  ///< ranks
    std::string culprit = {};        ///< a sentence without full stop: "rank 5 on node7 has not called ..."
    std::vector<std::string> waiting = {};  ///< a sentence for each operation that others wait in

    /// The culprit first, then what the others wait in: "...; ranks [0-4,6,7] wait in it".
    std::string line() const;
};

/// "absent": the name of the enumerator.
std::string_view name_of(HangDiagnosis::Cause cause);

/// Pure.
/// @param states of all ranks, in their order; those that have ended or not started may have nothing but
/// rank, host and activity
HangDiagnosis diagnose_hang(const std::vector<RankState>& states);

/// "all_reduce 4711 (float32 x 1024, sum) of group dp at train.py:88".
std::string to_text(const Operation& operation);

}  // namespace dtrain::trace
