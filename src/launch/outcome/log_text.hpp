// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Extracts messages of programs that are not dtrain's from the end of a rank's log. Pure.
namespace dtrain::launch {

/// Letters of an exception that a report shows.
inline constexpr std::size_t max_exception = 400;

/// The last `lines` non-empty lines of a log, as a terminal finally shows them (a progress bar overwrites its
/// line many times); very long ones are cut.
std::string last_lines(std::string_view log, std::size_t lines);

/// The line that names a Python exception, "ValueError: my own words": the one after the last traceback,
/// which is the last exception of a chain. Also recognizes torch's format, with "[rank1]: " before each line.
std::optional<std::string> exception_line(std::string_view log);

/// The system loader's error for a program with a missing library: "error while loading shared libraries:
/// libmpi.so.40: cannot open shared object file: No such file or directory".
std::optional<std::string> loader_complaint(std::string_view log);

/// What ended a rank.
enum class EndedBy {
    itself,
    /// Another process, most likely because another rank failed: Paddle's "[SignalInfo: *** SIGTERM (@0x3fe)
    /// received by PID 1164 (TID 0x7f6c) from PID 1022 ***]".
    sigterm,
    /// Open MPI 5, whose connection to another rank was closed: "[n2:7] *** An error occurred in Socket
    /// closed".
    lost_connection,
    killed_rank,  ///< its error tells that it waited for a rank that a signal had ended
};
/// As far as its log tells: not killed_rank.
EndedBy ended_by(std::string_view log);

/// Of a rank that Open MPI ended because of an error that belongs to no call (MPI_ERR_UNKNOWN).
inline constexpr int exit_code_of_open_mpi = 14;

}  // namespace dtrain::launch
