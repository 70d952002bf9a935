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
#include "native/job_file.hpp"
#include "native/task.hpp"
#include "train/loop.hpp"

namespace dtrain::native {

using model::ScoredSample;
using train::PhaseTimes;
using train::RankParts;

/// Means over the real (not padding) samples of all ranks.
struct Metrics {
    double loss = 0;
    std::optional<double> accuracy = {};  ///< classifiers only
    std::optional<double> auc = {};       ///< click-through models only, on test data
    std::int64_t samples = 0;
    std::int64_t left_out = 0;  ///< how many of these samples were in batches with a non-finite loss
};

/// What a rank trains, before anything is compiled or communicated.
struct TrainingPlan {
    std::unique_ptr<const Task> task;
    TrainSettings settings;
    RankParts parts;
    std::int64_t global_batch = 0;
    std::unique_ptr<Feeder> train_feeder;
    std::unique_ptr<Feeder> test_feeder;  ///< may be null
    Model model;
    /// For this rank's batch in the last step of an epoch, if it is smaller.
    std::optional<Model> last_model = {};
};

/// Identifies the job that a checkpoint belongs to.
std::map<std::string, std::string> job_fields(const TrainingPlan& plan);

/// @param by_servers parameter servers add the gradients of the ranks and update the parameters
/// @throws UsageError if the settings do not fit the ranks or the data
TrainingPlan plan_training(const TrainSettings& settings, std::unique_ptr<const Task> task,
                           const Communicator& communicator, bool by_servers = false);

/// Trains a task's model on this rank's shard of the data. Unless noted otherwise, functions are collective
/// over the training ranks.
class Trainer {
  public:
    struct Options {
        int threads = 1;       ///< compute threads per rank
        bool profile = false;  ///< time every operator
        /// Excludes batches with a non-finite loss from an epoch's metrics: servers reject their gradients.
        bool leaves_out_not_finite = false;
    };

    /// @param servers connection for a plan that was transpiled for servers; null: the ranks update the
    /// parameters
    Trainer(TrainingPlan plan, Communicator communicator, const Options& options,
            std::unique_ptr<ServerConnection> servers = nullptr);

    /// Trainer without servers.
    Trainer(const TrainSettings& settings, std::unique_ptr<const Task> task, const Communicator& communicator,
            int threads, bool profile = false)
        : Trainer(plan_training(settings, std::move(task), communicator), communicator, {threads, profile}) {}

    /// Resumes from a checkpoint: rank 0 reads it and sends it to the others. The first of `files` that can
    /// be read is used; `warn` is called for each one before it.
    /// @param files rank 0's are used; at least one
    /// @return the checkpoint that was used, on all ranks
    /// @throws UsageError on all ranks if none can be read or it belongs to another job; the state is then
    /// the initial one
    std::filesystem::path resume(const std::vector<std::filesystem::path>& files,
                                 const std::function<void(const std::string&)>& warn);

    /// Resumes at a checkpoint that the servers have loaded. @param header rank 0's is used
    void go_on_from(const CheckpointHeader& header);

    /// Loads the row state that each trainer of geo mode has alone, if the same number of trainers saved it;
    /// otherwise it starts anew and `warn` is called. @throws UsageError on all ranks if it cannot be read
    void resume_rows(const std::filesystem::path& folder,
                     const std::function<void(const std::string&)>& warn);

    /// The writer of the job's checkpoints.
    std::unique_ptr<checkpoint::CheckpointWriter> checkpoints(const CheckpointSettings& settings);

    /// Trains the rest of the epoch.
    /// @param goes_on called between two steps, after every step but the epoch's last; must return the same
    /// on all ranks
    /// @return nothing if `goes_on` returned false
    /// @throws Error if the loss becomes non-finite, or the ranks' parameters differ
    std::optional<Metrics> train_epoch(const std::function<bool()>& goes_on = [] { return true; });

    /// Nothing if there is no test data.
    std::optional<Metrics> test();

    /// The header of a checkpoint taken now; its tensors are those of state().
    CheckpointHeader header() const;
    const State& state() const { return state_; }

    std::int64_t epochs_done() const { return loop_.position().epoch; }
    std::int64_t steps_done() const { return loop_.position().step; }
    /// Of the epoch in progress.
    std::int64_t epoch_steps_done() const { return loop_.position().epoch_step; }
    std::int64_t steps_per_epoch() const { return train_feeder_->steps(); }
    /// Mean over the samples of the epoch that this process has trained on; nothing: none yet.
    std::optional<double> loss_so_far() const;
    /// The sum of the same losses, and the number of samples.
    double loss_sum_so_far() const { return loss_so_far_; }
    std::int64_t samples_so_far() const { return samples_so_far_; }
    /// Makes ranks measure after each epoch which of them waited for which. Call on all ranks; no effect with
    /// servers.
    void watch_waits() { watches_waits_ = !has_servers(); }
    bool watches_waits() const { return watches_waits_; }
    /// Of all steps by this process. If waits are not watched, `communicate` includes waiting.
    const PhaseTimes& times() const { return loop_.phases().times(); }
    std::int64_t local_batch() const { return train_feeder_->local_batch(); }
    std::int64_t global_batch() const { return global_batch_; }
    const Model& model() const { return model_; }
    const Task& task() const { return *task_; }
    const Executor& executor() const { return trainer_; }
    bool has_servers() const { return servers_ != nullptr; }

    /// Advances the day of the servers' tables, one day per epoch. @param shrinks as
    /// ServerConnection::begin_day()
    void begin_day(bool shrinks);

    /// Requires servers. Not collective.
    ServerCounts server_counts() const { return servers_->counts(); }

    /// Disconnects from the servers; no training or testing afterwards.
    void leave_servers();
    std::uint64_t checksum() const { return parameters_checksum(state_); }

  private:
    /// Sums over this rank's samples.
    struct Sums {
        double loss = 0;
        double correct = 0;
        double left_out = 0;
    };

    ExecutorOptions training_options(const TrainSettings& settings, const Options& options) const;
    /// In asynchronous jobs: waits for the pushes of all trainers, then pulls the resulting parameters.
    /// Collective.
    void synchronize_with_servers();
    /// Makes the parameters the same on all ranks, with or without servers. Collective.
    void synchronize();
    Executor* executor_of(std::int64_t step);
    void prefetch_rows();
    void settle_waits();
    void add_metrics(const Executor& executor, double loss, Sums& sums) const;
    void add_training_metrics(Executor& executor);
    void add_scores(std::vector<ScoredSample>& scored);
    Metrics metrics_of(const Sums& sums, std::int64_t samples) const;
    void take_sums(const CheckpointHeader& header);

    Communicator communicator_;
    std::unique_ptr<ServerConnection> servers_;  ///< may be null
    bool is_async_ = false;
    bool leaves_out_not_finite_;
    std::map<std::string, std::string> job_;  ///< identifies the job in its checkpoints
    std::unique_ptr<const Task> task_;
    std::uint64_t seed_;
    train::Loop loop_;
    std::int64_t global_batch_;
    std::unique_ptr<Feeder> train_feeder_;
    std::unique_ptr<Feeder> test_feeder_;  ///< may be null
    Model model_;
    State state_;
    Executor trainer_;
    std::optional<Executor> last_trainer_;  ///< for TrainingPlan::last_model
    Executor tester_;
    Sums sums_;  ///< of the epoch in progress
    double loss_so_far_ = 0;
    std::int64_t samples_so_far_ = 0;
    bool watches_waits_ = false;
};

}  // namespace dtrain::native
