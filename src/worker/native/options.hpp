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
    std::optional<std::filesystem::path> job;  ///< none: the built-in job
    bool resume = false;
    bool from_the_beginning_else = false;              ///< --resume auto: a job without a checkpoint begins
    std::optional<std::filesystem::path> resume_from;  ///< none: the newest in the checkpoint folder
    std::optional<std::int64_t> epochs;
    std::optional<std::filesystem::path> checkpoint_dir;
    std::optional<double> time_limit;  ///< seconds, after which it stops with a checkpoint
    std::optional<std::filesystem::path>
        inspect;  ///< a checkpoint, or a folder of them, to describe, instead of training
    std::optional<std::filesystem::path> export_to;    ///< the rows of a table of `inspect`, instead
    std::optional<std::string> table;                  ///< of which one; none: the only one
    bool profile = false;                              ///< print at the end what each operator cost
    std::optional<std::filesystem::path> metrics;      ///< JSON lines of what is measured
    std::optional<std::filesystem::path> tensorboard;  ///< folder
    std::optional<std::filesystem::path> report;       ///< a page
    bool no_progress = false;                          ///< say nothing of an epoch before it is complete
    std::optional<std::string> print_and_exit;         ///< text of --help or --version
};

/// @param arguments without the program's name
/// @throws UsageError on unknown options (with the nearest known one) and bad values.
Options parse_options(const std::string& program, std::vector<std::string> arguments);

/// The options of a job, for the manual page and completion of dtrain-worker.
OptionSection job_option_section();
std::string job_examples();

/// Compute threads of a rank: OMP_NUM_THREADS (the first number of a list), 1 when it is not set.
/// @throws UsageError naming the value when it is no number above 0.
int compute_threads(const Environment& environment);

}  // namespace dtrain::native
