// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>

#include "checkpoint/checkpoint_writer.hpp"
#include "model/exact_auc.hpp"
#include "model/phase_clock.hpp"
#include "model/shares.hpp"
#include "worker/native/job_file.hpp"
#include "worker/native/task.hpp"

namespace dtrain::native {

using model::PhaseClock;
using model::PhaseTimes;
using model::ScoredSample;
using model::Shares;

/// Means over the real samples of all ranks.
struct Metrics {
    double loss = 0;
    std::optional<double> accuracy = {};  ///< of classifiers
    std::optional<double> auc = {};       ///< of click-through models, on test data
    std::int64_t samples = 0;
    std::int64_t left_out = 0;  ///< of these samples: in batches whose loss is no finite number
};

/// What a rank trains, before anything is compiled or exchanged.
struct TrainingPlan {
    std::unique_ptr<const Task> task;
    TrainSettings settings;
    Shares shares;
    std::int64_t global_batch = 0;
    std::unique_ptr<Feeder> train_feeder;
    std::unique_ptr<Feeder> test_feeder;  ///< or none
    Model model;
    std::optional<Model> last_model =
        {};  ///< of this rank's batch of an epoch's last step, when it is smaller
};

/// What a checkpoint of a job belongs to.
std::map<std::string, std::string> job_fields(const TrainingPlan& plan);

/// @param by_servers parameter servers add the gradients of the ranks and update
/// @throws UsageError when the settings do not fit the ranks or the data.
TrainingPlan plan_training(const TrainSettings& settings, std::unique_ptr<const Task> task,
                           const Communicator& communicator, bool by_servers = false);

/// Trains a task's model on this rank's share of the data. Every function is collective over the ranks that
/// train.
class Trainer {
  public:
    struct Options {
        int threads = 1;       ///< compute threads of this rank
        bool profile = false;  ///< time every operator
        /// Batches whose loss is no finite number are left out of an epoch's metrics: servers reject their
        /// gradients.
        bool leaves_out_not_finite = false;
    };

    /// @param servers of a plan whose model was transpiled for them; none: the ranks update
    Trainer(TrainingPlan plan, Communicator communicator, const Options& options,
            std::unique_ptr<ServerConnection> servers = nullptr);

    /// Without servers.
    Trainer(const TrainSettings& settings, std::unique_ptr<const Task> task, const Communicator& communicator,
            int threads, bool profile = false)
        : Trainer(plan_training(settings, std::move(task), communicator), communicator, {threads, profile}) {}

    /// Goes on where a checkpoint stopped: rank 0 reads it, the others get it from there. Of several the
    /// first that can be read is taken, and `warn` told of those before.
    /// @param files rank 0's count; at least one
    /// @return which it was, on all ranks
    /// @throws UsageError on all ranks when none can be read or it is of another job; the state then is that
    /// of the beginning.
    std::filesystem::path resume(const std::vector<std::filesystem::path>& files,
                                 const std::function<void(const std::string&)>& warn);

    /// Goes on where a checkpoint stood that the servers have loaded. @param header rank 0's counts
    void go_on_from(const CheckpointHeader& header);

    /// Goes on with what each trainer of geo mode alone has of rows, when as many have saved it; `warn` is
    /// told when it begins anew. @throws UsageError on all ranks when it cannot be read
    void resume_rows(const std::filesystem::path& folder,
                     const std::function<void(const std::string&)>& warn);

    /// Writes the job's checkpoints.
    std::unique_ptr<checkpoint::CheckpointWriter> checkpoints(const CheckpointSettings& settings);

    /// Trains what is left of the epoch.
    /// @param goes_on asked after every step but the epoch's last, when this trainer stands between two
    /// steps; all ranks must answer alike
    /// @return nothing when it does not go on
    /// @throws Error when the loss is no finite number any more, or the ranks' parameters differ.
    std::optional<Metrics> train_epoch(const std::function<bool()>& goes_on = [] { return true; });

    /// Nothing without test data.
    std::optional<Metrics> test();

    /// What a checkpoint of this moment says besides its tensors, which are those of state().
    CheckpointHeader header() const;
    const State& state() const { return state_; }

    std::int64_t epochs_done() const { return epoch_; }
    std::int64_t steps_done() const { return step_; }
    /// Of the epoch in progress.
    std::int64_t epoch_steps_done() const { return epoch_step_; }
    std::int64_t steps_per_epoch() const { return train_feeder_->steps(); }
    /// Mean over what this rank has trained of the epoch, by this process; none: nothing yet.
    std::optional<double> loss_so_far() const;
    /// Of the same, the sum, and its samples.
    double loss_sum_so_far() const { return loss_so_far_; }
    std::int64_t samples_so_far() const { return samples_so_far_; }
    /// From now on ranks compare after each epoch who waited for whom. On all ranks alike; with servers
    /// nothing.
    void watch_waits() { watches_waits_ = !has_servers(); }
    bool watches_waits() const { return watches_waits_; }
    /// Of all steps by this process. Waiting is a part of `communicate` where nobody compares.
    const PhaseTimes& times() const { return phases_.times(); }
    std::int64_t local_batch() const { return train_feeder_->local_batch(); }
    std::int64_t global_batch() const { return global_batch_; }
    const Model& model() const { return model_; }
    const Task& task() const { return *task_; }
    const Executor& executor() const { return trainer_; }
    bool has_servers() const { return servers_ != nullptr; }

    /// The servers' tables count a day for each epoch. @param shrinks as ServerConnection::begin_day()
    void begin_day(bool shrinks);

    /// Not collective. There must be servers.
    ServerCounts server_counts() const { return servers_->counts(); }

    /// Nothing can be trained or tested any more.
    void leave_servers();
    std::uint64_t checksum() const { return parameters_checksum(state_); }

  private:
    /// Of this rank's samples.
    struct Sums {
        double loss = 0;
        double correct = 0;
        double left_out = 0;
    };

    ExecutorOptions training_options(const TrainSettings& settings, const Options& options) const;
    /// Of asynchronous jobs: all trainers have the parameters that all of them made.
    void meet_at_servers();
    /// The same with or without servers.
    void synchronize();
    void train_step();
    void train_last_step();
    void train_batch(Executor& executor);
    void settle_waits();
    void add_metrics(const Executor& executor, double loss, Sums& sums) const;
    void add_training_metrics(Executor& executor);
    void add_scores(std::vector<ScoredSample>& scored);
    Metrics metrics_of(const Sums& sums, std::int64_t samples) const;
    void take_sums(const CheckpointHeader& header);

    Communicator communicator_;
    std::unique_ptr<ServerConnection> servers_;  ///< or none
    bool is_async_ = false;
    bool leaves_out_not_finite_;
    std::map<std::string, std::string> job_;  ///< what a checkpoint of this job belongs to
    std::unique_ptr<const Task> task_;
    std::uint64_t seed_;
    Shares shares_;
    std::int64_t global_batch_;
    std::unique_ptr<Feeder> train_feeder_;
    std::unique_ptr<Feeder> test_feeder_;  ///< or none
    Model model_;
    State state_;
    Executor trainer_;
    std::optional<Executor> last_trainer_;  ///< of TrainingPlan::last_model
    Executor tester_;
    std::int64_t epoch_ = 0;
    std::int64_t step_ = 0;
    std::int64_t epoch_step_ = 0;
    Sums sums_;  ///< of the epoch in progress
    double loss_so_far_ = 0;
    std::int64_t samples_so_far_ = 0;
    PhaseClock phases_;
    bool watches_waits_ = false;
};

}  // namespace dtrain::native
