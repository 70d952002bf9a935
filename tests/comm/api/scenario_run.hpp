// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "comm/api/reported_lines.hpp"

namespace dtrain::tests {

struct ScenarioRun {
    std::string text;  ///< what ranks told, and then stderr
    ExitStatus status;
};

/// A program whose ranks tell by ReportedLines, under the mpirun that DTRAIN_TEST_MPIRUN names.
/// @param deadline DTRAIN_COMM_TIMEOUT
inline ScenarioRun run_scenario(int ranks, const std::vector<std::string>& command,
                                const std::string& deadline, Environment environment) {
    const TemporaryFolder report_folder;
    environment.set("ASAN_OPTIONS", "detect_leaks=0");
    environment.set("DTRAIN_COMM_TIMEOUT", deadline);
    environment.set(ReportedLines::variable, report_folder.path().string());
    ProcessOptions options{.environment = environment};
    options.argv = split(std::getenv("DTRAIN_TEST_MPIRUN"), ' ');
    options.argv.insert(options.argv.end(), {"-np", std::to_string(ranks)});
    options.argv.insert(options.argv.end(), command.begin(), command.end());
    const auto captured = run_and_capture(options, std::chrono::seconds(40));
    return {ReportedLines::in(report_folder.path()) + captured.err, captured.status};
}

}  // namespace dtrain::tests
