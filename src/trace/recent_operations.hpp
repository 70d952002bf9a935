// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "trace/operation_log_format.hpp"

namespace dtrain::trace {

/// Chooses which of a process's operations its state has: the last that ended of each group, and what goes
/// on.
/// @tparam Group what names a group
template <class Group>
class RecentOperations {
  public:
    /// Asked of one after the other, the newest first.
    bool wants(const Group& group, OperationKind kind, bool goes_on, bool is_waited_for) {
        const bool is_recent = kind == OperationKind::collective && seen_[group]++ < of_a_group;
        const bool wanted = is_waited_for || (taken_ < max && (goes_on || is_recent));
        if (wanted) ++taken_;
        return wanted;
    }

  private:
    static constexpr std::size_t of_a_group = 6;
    static constexpr std::size_t max = 24;

    std::map<Group, std::size_t> seen_;
    std::size_t taken_ = 0;
};

}  // namespace dtrain::trace
