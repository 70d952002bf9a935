// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "native/job_file.hpp"
#include "native/options.hpp"
#include "native/resume_plan.hpp"
#include "native/task.hpp"

namespace dtrain::native {

/// What a rank needs to know about its job.
struct JobInput {
    Job job;
    std::unique_ptr<const Task> task;     ///< null on parameter servers
    std::optional<double> best_auc = {};  ///< best possible AUC on the test data, if known
    int threads = 1;
    Starts starts = {};
    /// Set on rank 0: the candidates, of which the first that can be read is used; empty: start from the
    /// beginning.
    std::vector<std::filesystem::path> resume_from = {};
};

/// The job that runs if none is named.
std::filesystem::path built_in_job();

/// Reads the job file and applies the overrides of the command line. @throws UsageError
Job read_job_of(const Options& options);

/// Reads and validates all input, without writing anything.
/// @param rank among the training ranks
/// @throws UsageError
JobInput read_input(const Options& options, Job job, int rank, bool with_servers);

}  // namespace dtrain::native
