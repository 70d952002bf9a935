// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/native/trainer.hpp"

namespace dtrain::native {

struct EpochReport {
    std::int64_t epoch = 0;
    Metrics train;
    std::optional<Metrics> test;
    std::int64_t timed_samples = 0;  ///< how many of the epoch's samples this run has trained
    double train_seconds = 0;        ///< of these
    double total_seconds = 0;        ///< since training began
};

/// "64 (32 per rank)", "64 (8 for each of 8 virtual ranks)".
std::string batch_text(const Trainer& trainer, const TrainSettings& train);

/// "parameters averaged every 8 steps".
std::string local_sgd_text(std::int64_t steps);

/// The lines before the table: data, model, batches.
/// @param ranks who trains: "2 ranks"
std::string header(const Job& job, const std::string& job_name, const Trainer& trainer,
                   const std::string& ranks);

std::string table_head(ModelKind kind);
/// A line below table_head(), in its columns.
std::string table_row(ModelKind kind, const EpochReport& report);

/// "test accuracy 0.9612", or "test AUC 0.7612 (best possible 0.7788)".
/// @param best_auc if it is known
std::string result_line(const Metrics& test, const std::optional<double>& best_auc);

/// What parameter servers have and have done; "" when that is nothing.
std::string server_line(const ServerCounts& counts);

/// "128 of 1,500 samples are left out: ...", below the row of an epoch; "" when there are none.
std::string left_out_line(const Metrics& train);

/// What to try next after the built-in job.
/// @param command how the program was called
/// @param epochs more than the job had
std::string next_steps(const std::string& command, const std::filesystem::path& job_file,
                       std::int64_t epochs);

/// What each operator has cost, the dearest first. Pure.
/// @param memory_bytes of everything that a step makes
/// @param communicator how ranks exchange data, in words
std::string profile_text(std::vector<OperatorTime> times, std::size_t memory_bytes,
                         const std::string& communicator);

}  // namespace dtrain::native
