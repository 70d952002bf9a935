// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Runs session_scenarios.cpp.
#pragma once

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "comm/api/reported_lines.hpp"

namespace dtrain {

inline bool can_run_mpi() {
    return std::getenv("DTRAIN_TEST_MPIRUN") != nullptr && std::getenv("DTRAIN_TEST_SCENARIOS") != nullptr;
}

/// With what ranks have told before what they wrote to stderr.
/// @param variables those without a value are unset
inline Captured under_mpirun(int ranks, const std::string& scenario,
                             const std::map<std::string, std::string>& variables = {},
                             const std::string& argument = "") {
    auto environment = Environment::of_this_process();
    environment.set("ASAN_OPTIONS", "detect_leaks=0");  // MPI's own would be found
    for (const auto& [name, value] : variables)
        if (value.empty())
            environment.unset(name);
        else
            environment.set(name, value);
    const tests::TemporaryFolder report_folder;
    environment.set(tests::ReportedLines::variable, report_folder.path().string());
    ProcessOptions options{.environment = environment};
    options.argv = split(std::getenv("DTRAIN_TEST_MPIRUN"), ' ');
    options.argv.insert(options.argv.end(),
                        {"-np", std::to_string(ranks), std::getenv("DTRAIN_TEST_SCENARIOS"), scenario});
    if (!argument.empty()) options.argv.push_back(argument);
    auto run = run_and_capture(options, std::chrono::seconds(40));
    run.err = tests::ReportedLines::in(report_folder.path()) + run.err;
    return run;
}

inline Captured alone(const std::string& scenario) {
    auto environment = Environment::of_this_process();
    for (const auto& [name, value] : Environment::of_this_process())
        if (name.starts_with("OMPI_COMM_WORLD") || name.starts_with("PM") || name.starts_with("SLURM"))
            environment.unset(name);
    ProcessOptions options{.environment = environment};
    options.argv = {std::getenv("DTRAIN_TEST_SCENARIOS"), scenario};
    return run_and_capture(options, std::chrono::seconds(40));
}

}  // namespace dtrain
