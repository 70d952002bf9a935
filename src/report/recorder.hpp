// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/outputs.hpp"
#include "report/run.hpp"

namespace dtrain::report {

/// Tells of one training, in one process, wherever somebody wants to see it. JSON lines and TensorBoard's
/// file grow with every row; page and record are replaced every few seconds and at the end. Training goes on
/// when something cannot be written: that is complained of once.
class Recorder {
  public:
    /// Writes the beginning. @param run title, began, info, places
    Recorder(Outputs outputs, Run run, std::function<void(const std::string&)> complain);

    void add(MetricRow row);
    void add(RunEvent event);
    void add(const SlowEpoch& slow);
    void set(std::vector<RankTimes> times);
    void set(std::vector<RankGpus> gpus);

    /// @param seconds that the run took
    void finish(const std::string& outcome, double seconds, std::optional<Failure> failure = std::nullopt);

    const Run& run() const { return run_; }

  private:
    using Clock = std::chrono::steady_clock;

    void add_to_files(const MetricRow& row);
    void write_page();
    void try_to(const std::function<void()>& write);

    Outputs outputs_;
    Run run_;
    std::function<void(const std::string&)> complain_;
    std::filesystem::path event_file_;
    std::optional<Clock::time_point> page_written_;
    bool has_complained_ = false;
};

}  // namespace dtrain::report
