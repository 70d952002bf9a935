// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/rank_state.hpp"

namespace dtrain::trace {

/// Ranks of a group that called another operation than the others where all must call the same.
struct SequenceFault {
    enum class Kind {
        skipped,    ///< what they called comes after what the others called
        reordered,  ///< they called it next
        differs,    ///< the same operation with another length, type, reduction or root, or quite another one
        unclear,    ///< as many ranks called one as the other, and nothing tells which is right
    };

    Kind kind = Kind::differs;
    std::vector<int> culprits = {};
    std::vector<int> others = {};
    Operation called = {};    ///< by the culprits
    Operation expected = {};  ///< what the others called
};

/// The earliest fault of any group, in its numbers. What ranks have called before is how one tells which of
/// two is right when as many ranks called either. Pure.
std::optional<SequenceFault> first_sequence_fault(const std::vector<RankState>& states);

/// What a rank used to call after the operation before its last one, of whatever groups, if it has never
/// called the last one there before; nothing if that is usual, or was not recorded. Pure.
std::optional<Operation> usual_instead_of_last(const RankState& state);

}  // namespace dtrain::trace
