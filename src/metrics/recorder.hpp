// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metrics/outputs.hpp"
#include "metrics/run.hpp"

namespace dtrain::metrics {

/// Records one training, in one process, to all outputs. Appends every row to the JSON lines and
/// TensorBoard's file; replaces page and record every few seconds and at the end. Training continues if
/// something cannot be written, which is reported once.
class Recorder {
  public:
    /// Writes the beginning.
    /// @param run title, began, info, places
    Recorder(Outputs outputs, Run run, std::function<void(const std::string&)> complain);

    void add(MetricRow row);
    void add(RunEvent event);
    void add(const SlowEpoch& slow);
    void set(std::vector<RankTimes> times);
    void set(std::vector<RankGpus> gpus);

    /// @param seconds duration of the run
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

}  // namespace dtrain::metrics
