// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dtrain/click_log.hpp>

#include "native/click_samples.hpp"
#include "native/task.hpp"

namespace dtrain::native {

/// Click-through prediction. Without servers the table has one row per id of the training log, in this
/// process' memory.
class ClickTask final : public Task {
  public:
    /// @param with_servers the table is on parameter servers, with rows for any ids
    /// @throws UsageError if training and test log have different columns
    ClickTask(ModelSettings settings, ClickLog train, std::optional<ClickLog> test,
              bool with_servers = false);
    /// @param test may be null
    ClickTask(ModelSettings settings, std::unique_ptr<ClickSamples> train, std::unique_ptr<ClickSamples> test,
              bool with_servers);

    std::int64_t train_samples() const override { return train_->size(); }
    std::int64_t test_samples() const override { return test_ ? test_->size() : 0; }
    std::string sample_description() const override;
    std::uint64_t fingerprint() const override { return train_->fingerprint(); }
    Model build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust) const override;
    std::unique_ptr<Feeder> train_feeder(const DistributedSampler::Options& sampling) const override;
    std::unique_ptr<Feeder> test_feeder(const DistributedSampler::Options& sampling) const override;

  private:
    ModelSettings settings_;
    bool with_servers_;
    std::int64_t rows_ = 0;
    // With row numbers in place of ids, unless the table is on servers.
    std::unique_ptr<ClickSamples> train_;
    std::unique_ptr<ClickSamples> test_;  ///< may be null
};

/// Reads a job's logs, or opens their caches, which must exist.
/// @throws UsageError naming file and line, and if a log needs more memory than the job allows
std::unique_ptr<ClickTask> open_click_task(const Job& job, bool with_servers);

}  // namespace dtrain::native
