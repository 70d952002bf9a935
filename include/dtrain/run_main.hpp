// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace dtrain {

/// Runs the body of main(), so that a program ends in one line where an exception is caught by nobody, and
/// not in std::terminate() and a core dump:
///
///     int main(int argc, char** argv) {
///         return dtrain::run_main(argv[0], [&] {
///             const dtrain::ParallelEnv env(argc, argv);
///             ...
///             return 0;
///         });
///     }
///
/// In a job each rank that fails has its line; what lives in `body`, a ParallelEnv say, is gone before it is
/// printed. Secrets that are known by their form are hidden in it. A standard stream that is closed is opened
/// on /dev/null first, so that no file becomes that stream. Not collective.
/// @param program how the line begins: argv[0] or a name; folders are left out
/// @returns what `body` returns; 2 after a UsageError, 1 after anything else that it throws, also what is no
/// std::exception
int run_main(const std::string& program, const std::function<int()>& body);

}  // namespace dtrain
