// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>

#include "metrics/recorder.hpp"
#include "native/console.hpp"
#include "native/job_ranks.hpp"
#include "native/report.hpp"
#include "native/trainer.hpp"
#include "topology/gpu_use.hpp"

namespace dtrain::native {

/// Where the job and its launcher want the metrics to be written.
/// @throws UsageError on the first rank if one of these cannot be written
metrics::Outputs checked_outputs(const LogSettings& settings, const Environment& environment, int rank);

/// Records the metrics of a job on its first rank, for all outputs. Without any output, it only reports on
/// the console which ranks slow down the others.
class RunLog {
  public:
    struct Subject {
        const Job& job;
        metrics::Outputs outputs;  ///< the first rank's are used
        JobRanks ranks;
        std::optional<std::filesystem::path> resumed = {};
    };

    /// Collective, as are watch() and note_epoch().
    RunLog(const Subject& subject, Trainer& trainer, const Communicator& trainers, const Console& console);

    /// Calls `train` and records how it ended. @return its result, an exit status
    template <class Train>
    int watch(const Train& train) {
        try {
            const int status = train();
            finish(status == 0 ? "done" : "stopped", {});
            return status;
        } catch (const std::exception& failed) {
            finish("failed", failed.what());
            throw;
        }
    }

    /// Call after each step within an epoch.
    void note_step() {
        if (recorder_ && trainer_.epoch_steps_done() % every_steps_ == 0) note_row_within();
    }
    void note_epoch(const EpochReport& epoch);
    void note(const std::string& event);

  private:
    using Clock = std::chrono::steady_clock;

    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    void note_row_within();
    std::vector<metrics::RankTimes> gather_times();
    void note_slowest(std::int64_t epoch);
    std::vector<metrics::Measured> gather_gpu_use();
    void finish(const std::string& outcome, const std::string& why);
    metrics::Run beginning(const Subject& subject, std::vector<metrics::RankLocation> locations) const;

    Trainer& trainer_;
    const Communicator& trainers_;
    const Console& console_;
    int first_rank_;  ///< the first trainer's rank in the job
    bool is_wanted_;  ///< the first rank has an output
    Clock::time_point start_ = Clock::now();
    std::int64_t every_steps_ = 1;
    std::optional<metrics::Recorder> recorder_;  ///< on the first rank
    std::optional<topology::GpuWatch> gpus_;
    std::vector<metrics::RankTimes> times_;  ///< at the end of the previous epoch
    // Values at the previous row:
    std::int64_t epoch_ = -1;
    std::int64_t steps_ = 0;
    double at_ = 0;
    double loss_sum_ = 0;
    std::int64_t samples_ = 0;
};

}  // namespace dtrain::native
