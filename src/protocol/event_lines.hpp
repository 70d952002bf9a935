// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/event.hpp"

namespace dtrain::cluster {

/// Size, with its end, that every engine forwards as a whole. Slurm cuts a longer line after 1024 bytes, and
/// lines of other nodes may come between its pieces (MAX_MSG_LEN in src/slurmd/slurmstepd/io.c).
inline constexpr std::size_t max_whole_line = 1000;

/// The lines of an event with their ends, each at most max_whole_line bytes: one, or the parts of a long
/// event. Pure.
std::vector<std::string> lines_of(const Event& event);

/// Reads the lines of all ranks. Those of different ranks may come between each other.
class EventReader {
  public:
    /// The event that a line completes.
    /// @param line without its end, from its last event_marker on
    std::optional<Event> take(std::string_view line);

  private:
    struct Unfinished {
        std::string checksum;  // of the whole event
        int parts = 0;
        std::string text;
    };

    std::map<int, Unfinished> unfinished_;  // by rank
};

}  // namespace dtrain::cluster
