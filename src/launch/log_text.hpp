// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Extracts messages from the end of a rank's log. Pure.
namespace dtrain::launch {

/// The last `lines` non-empty lines of a log, as a terminal finally shows them (a progress bar overwrites its
/// line many times); very long ones are cut.
std::string last_lines(std::string_view log, std::size_t lines);

/// The line that names a Python exception, "ValueError: my own words": the one after the last traceback,
/// which is the last exception of a chain. Also recognizes torch's format, with "[rank1]: " before each line.
std::optional<std::string> exception_line(std::string_view log);

/// The error of dtrain's own programs: the last line "dtrain-native: WORDS", as WORDS.
std::optional<std::string> native_complaint(std::string_view log);

/// The error of parameter server `number`: the first line "dtrain: parameter server 1: WORDS", as "parameter
/// server 1: WORDS".
std::optional<std::string> server_complaint(std::string_view log, int number);

/// The ranks of the job for which one of dtrain's operations timed out, as its error names them: "allreduce
/// number 7 waited 3.0 s for rank 1 (in no operation), rank 2 (rank 5 of the job; did not answer)".
std::vector<int> ranks_waited_for(std::string_view error);

/// A Communicator's timeout error, from the last line that has one, with any prefix: "allreduce number 3
/// waited 60.0 s for rank 0 (...)". The text is dtrain's, but the program printed it.
std::optional<std::string> vain_wait(std::string_view log);

/// The system loader's error for a program with a missing library: "error while loading shared libraries:
/// libmpi.so.40: cannot open shared object file: No such file or directory".
std::optional<std::string> loader_complaint(std::string_view log);

/// Whether the log has a line such as Paddle's "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID
/// 0x7f6c) from PID 1022 ***]": the rank was ended by another process, most likely because another rank
/// failed.
bool mentions_sigterm(std::string_view log);

}  // namespace dtrain::launch
