// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_input.hpp"

#include <utility>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "native/best_auc.hpp"

namespace dtrain::native {

std::filesystem::path built_in_job() {
    return (this_executable().parent_path() / "../../share/dtrain/examples/digits.toml").lexically_normal();
}

Job read_job_of(const Options& options) {
    auto job = read_job(options.job.value_or(built_in_job()));
    if (options.epochs) job.train.epochs = *options.epochs;
    if (options.checkpoint_dir) job.checkpoint.dir = options.checkpoint_dir;
    auto& outputs = job.log.outputs;
    if (options.metrics) outputs.metrics = options.metrics;
    if (options.tensorboard) outputs.tensorboard = options.tensorboard;
    if (options.report) outputs.page = options.report;
    if (options.time_limit && !job.checkpoint.dir)
        throw UsageError(
            "--time-limit: this job keeps no checkpoints; --checkpoint-dir names a folder for them");
    return job;
}

JobInput read_input(const Options& options, Job job, int rank, bool with_servers) {
    const auto threads = compute_threads(Environment::of_this_process());
    auto task = open_task(job, with_servers);
    const bool ranks_clicks = job.model.kind == ModelKind::click_through && job.test_data;
    const auto best_auc = ranks_clicks ? best_auc_of(job.test_data->file) : std::nullopt;
    if (options.resume && !options.resume_from && !job.checkpoint.dir)
        throw UsageError("--resume: this job keeps no checkpoints; name a file, or --checkpoint-dir");
    auto starts = starts_of(Environment::of_this_process());
    job.checkpoint.run = starts.run;
    // Only rank 0 reads the folder, so other nodes need not see it.
    std::vector<std::filesystem::path> resume_from;
    if (rank == 0) resume_from = checkpoints_to_try(options, job.checkpoint, starts);
    return {std::move(job), std::move(task), best_auc, threads, std::move(starts), std::move(resume_from)};
}

}  // namespace dtrain::native
