// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <dtrain/cpuset.hpp>

namespace dtrain::cluster {

/// Ranks named on a command line. A value type.
class RankList {
  public:
    /// No rank.
    RankList() = default;

    static RankList all();

    /// Parses "0,2-3", "all" or "none".
    /// @throws UsageError naming the text if it is none of these.
    static RankList parse(std::string_view text);

    bool contains(int rank) const { return all_ || listed_.contains(rank); }

    /// The number of ranks in the list, for a job of this size.
    int count_in(int size) const;

    /// The shortest text that parse() converts to this list.
    std::string to_string() const;

    friend bool operator==(const RankList&, const RankList&) = default;

  private:
    bool all_ = false;
    CpuSet listed_;  // a set of small numbers, written like the kernel's CPU lists
};

}  // namespace dtrain::cluster
