// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dtrain/click_log.hpp>

#include "worker/native/task.hpp"

namespace dtrain::native {

/// To tell how likely a click is. Without servers the table has a row for each id of the training log, in
/// this process' memory.
class ClickTask final : public Task {
  public:
    /// @param with_servers parameter servers have the table, and rows for all ids
    /// @throws UsageError when training and test log do not have the same columns.
    ClickTask(ModelSettings settings, ClickLog train, std::optional<ClickLog> test,
              bool with_servers = false);

    std::int64_t train_samples() const override { return train_->size(); }
    std::int64_t test_samples() const override { return test_ ? test_->size() : 0; }
    std::string sample_description() const override;
    std::uint64_t fingerprint() const override { return fingerprint_; }
    Model build(std::int64_t local_batch, const Optimizer& optimizer, const Ranks& ranks,
                const OptimizerOptions& adjust) const override;
    std::unique_ptr<Feeder> train_feeder(const DistributedSampler::Options& sampling) const override;
    std::unique_ptr<Feeder> test_feeder(const DistributedSampler::Options& sampling) const override;

  private:
    ModelSettings settings_;
    bool with_servers_;
    std::uint64_t fingerprint_;  ///< of the log as it was read
    std::int64_t rows_ = 0;
    // With rows in place of ids, unless servers know the ids.
    std::shared_ptr<const ClickLog> train_;
    std::shared_ptr<const ClickLog> test_;  ///< or none
};

/// Reads a job's logs. @throws UsageError naming file and place, and when a log needs more than the memory
/// that the job allows.
std::unique_ptr<ClickTask> open_click_task(const Job& job, bool with_servers);

}  // namespace dtrain::native
