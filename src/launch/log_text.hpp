// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the end of a rank's log says. Pure.
namespace dtrain::launch {

/// The last `lines` lines of a log that hold anything, each as a terminal shows it at last (a progress bar's
/// line is written many times over), very long ones cut.
std::string last_lines(std::string_view log, std::size_t lines);

/// The line that names Python's exception, "ValueError: my own words": the one behind the last traceback,
/// which is the exception that came last of a chain. Also as torch prints it, with "[rank1]: " before each
/// line.
std::optional<std::string> exception_line(std::string_view log);

/// What dtrain's own programs say of their end: the last line "dtrain-native: WORDS", as WORDS.
std::optional<std::string> native_complaint(std::string_view log);

/// What parameter server `number` says of its failure: the first line "dtrain: parameter server 1: WORDS", as
/// "parameter server 1: WORDS".
std::optional<std::string> server_complaint(std::string_view log, int number);

/// The ranks of the job that one of dtrain's operations waited for in vain, as its error names them:
/// "allreduce number 7 waited 3.0 s for rank 1 (in no operation), rank 2 (rank 5 of the job; did not
/// answer)".
std::vector<int> ranks_waited_for(std::string_view error);

/// A Communicator's word of a wait that was in vain, in the last line that has one, whoever has put what
/// before it: "allreduce number 3 waited 60.0 s for rank 0 (...)". It is dtrain's, but it is the program that
/// printed it.
std::optional<std::string> vain_wait(std::string_view log);

/// What the system's loader says of a program that lacks a library: "error while loading shared libraries:
/// libmpi.so.40: cannot open shared object file: No such file or directory".
std::optional<std::string> loader_complaint(std::string_view log);

/// A line such as Paddle's "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6c) from PID 1022
/// ***]": somebody ended this rank, most likely because of another one.
bool mentions_sigterm(std::string_view log);

}  // namespace dtrain::launch
