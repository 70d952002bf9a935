// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "native/job_file.hpp"
#include "native/model.hpp"
#include "train/feeder.hpp"

namespace dtrain::native {

using train::Feeder;

/// What a job learns and from which data: all that differs between kinds of jobs; training itself is the
/// same.
class Task {
  public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;

    virtual std::int64_t train_samples() const = 0;
    /// 0: no test data.
    virtual std::int64_t test_samples() const = 0;
    /// "64 values each".
    virtual std::string sample_description() const = 0;
    /// Identifies the training data.
    virtual std::uint64_t fingerprint() const = 0;

    /// The model for batches of this size. @throws ProgramError
    virtual Model build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                        const OptimizerOptions& adjust) const = 0;

    virtual std::unique_ptr<Feeder> train_feeder(const DistributedSampler::Options& sampling) const = 0;
    /// Requires test data.
    virtual std::unique_ptr<Feeder> test_feeder(const DistributedSampler::Options& sampling) const = 0;
};

/// Creates a job's task with its data.
/// @param with_servers parameter servers hold the tables
/// @throws UsageError naming file and line if data cannot be used
std::unique_ptr<const Task> open_task(const Job& job, bool with_servers);

}  // namespace dtrain::native
