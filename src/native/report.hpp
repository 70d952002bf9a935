// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "native/trainer.hpp"

namespace dtrain::native {

struct EpochReport {
    std::int64_t epoch = 0;
    Metrics train;
    std::optional<Metrics> test;
    std::int64_t timed_samples = 0;  ///< how many of the epoch's samples this run has trained on
    double train_seconds = 0;        ///< for timed_samples
    double total_seconds = 0;        ///< since training started
};

/// "64 (32 per rank)", "64 (8 for each of 8 virtual ranks)".
std::string batch_text(const Trainer& trainer, const TrainSettings& train);

/// "parameters averaged every 8 steps".
std::string local_sgd_text(std::int64_t steps);

/// The lines before the table: data, model, batches.
/// @param ranks the training ranks, such as "2 ranks"
std::string header(const Job& job, const std::string& job_name, const Trainer& trainer,
                   const std::string& ranks);

std::string table_head(ModelKind kind);
/// A row below table_head(), in the same columns.
std::string table_row(ModelKind kind, const EpochReport& report);

/// "test accuracy 0.9612", or "test AUC 0.7612 (best possible 0.7788)".
/// @param best_auc if it is known
std::string result_line(const Metrics& test, const std::optional<double>& best_auc);

/// Counters of the parameter servers; "" if all are zero.
std::string server_line(const ServerCounts& counts);

/// "128 of 1,500 samples are left out: ...", below the row of an epoch; "" if none are left out.
std::string left_out_line(const Metrics& train);

/// Suggests commands to try after the built-in job.
/// @param command how the program was called
/// @param epochs larger than the job's
std::string next_steps(const std::string& command, const std::filesystem::path& job_file,
                       std::int64_t epochs);

/// The time per operator, the most expensive first. Pure.
/// @param memory_bytes of all results of a step
/// @param communicator describes how ranks communicate
std::string profile_text(std::vector<OperatorTime> times, std::size_t memory_bytes,
                         const std::string& communicator);

}  // namespace dtrain::native
