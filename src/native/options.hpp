// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/option_text.hpp"

namespace dtrain::native {

/// The command line.
struct Options {
    std::optional<std::filesystem::path> job;  ///< nothing: the built-in job
    bool resume = false;
    /// --resume auto: a job without a checkpoint starts from the beginning.
    bool fallback_to_start = false;
    std::optional<std::filesystem::path> resume_from;  ///< nothing: the newest in the checkpoint folder
    std::optional<std::int64_t> epochs;
    std::optional<std::filesystem::path> checkpoint_dir;
    std::optional<double> time_limit;  ///< in seconds; then the job stops with a checkpoint
    /// Checkpoint, or folder of checkpoints, to describe instead of training.
    std::optional<std::filesystem::path> inspect;
    /// File to export the rows of a table of `inspect` to, instead of describing it.
    std::optional<std::filesystem::path> export_to;
    std::optional<std::string> table;                  ///< the table to export; nothing: the only one
    bool profile = false;                              ///< print the time per operator at the end
    std::optional<std::filesystem::path> metrics;      ///< JSON Lines file for metrics
    std::optional<std::filesystem::path> tensorboard;  ///< folder for TensorBoard
    std::optional<std::filesystem::path> report;       ///< HTML file of the report
    bool no_progress = false;                          ///< report an epoch only when it is complete
    std::optional<std::string> print_and_exit;         ///< text of --help or --version
};

/// @param arguments without the program's name
/// @throws UsageError on unknown options (with the nearest known one) and invalid values
Options parse_options(const std::string& program, std::vector<std::string> arguments);

/// The options of a job, for the manual page and completion of dtrain-worker.
OptionSection job_option_section();
std::string job_examples();

/// Compute threads of a rank: OMP_NUM_THREADS (the first number of a list), 1 if it is not set.
/// @throws UsageError naming the value if it is not a number above 0
int compute_threads(const Environment& environment);

}  // namespace dtrain::native
