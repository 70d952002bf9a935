// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace dtrain {

/// Runs the body of main(), so that an uncaught exception ends the program with one line of output instead of
/// std::terminate() and a core dump:
///
///     int main(int argc, char** argv) {
///         return dtrain::run_main(argv[0], [&] {
///             const dtrain::ParallelEnv env(argc, argv);
///             ...
///             return 0;
///         });
///     }
///
/// In a job each failing rank prints its own line; objects in `body`, such as a ParallelEnv, are destroyed
/// before it is printed. Secrets of known formats are redacted in it. A standard stream that is closed is
/// opened on /dev/null first, so that no other file gets its descriptor. Not collective.
/// @param program start of the line: argv[0] or a name; folders are left out
/// @returns what `body` returns; 2 after a UsageError, 1 after anything else that it throws, including
/// objects that are not a std::exception
int run_main(const std::string& program, const std::function<int()>& body);

}  // namespace dtrain
