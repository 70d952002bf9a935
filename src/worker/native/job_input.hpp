// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "worker/native/job_file.hpp"
#include "worker/native/options.hpp"
#include "worker/native/resume_plan.hpp"
#include "worker/native/task.hpp"

namespace dtrain::native {

/// What a rank needs to know of its job.
struct JobInput {
    Job job;
    std::unique_ptr<const Task> task;     ///< none on parameter servers
    std::optional<double> best_auc = {};  ///< on the test data, if it is known
    int threads = 1;
    Starts starts = {};
    /// Rank 0's: the first that can be read; none: from the beginning.
    std::vector<std::filesystem::path> resume_from = {};
};

/// The job that runs when none is named.
std::filesystem::path built_in_job();

/// The job file, with what the command line says otherwise. @throws UsageError
Job read_job_of(const Options& options);

/// Reads everything that can be wrong, without writing anything.
/// @param rank among those that train
/// @throws UsageError
JobInput read_input(const Options& options, Job job, int rank, bool with_servers);

}  // namespace dtrain::native
