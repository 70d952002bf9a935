// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/model.hpp>

#include "checkpoint/state_checkpoint.hpp"
#include "metrics/run.hpp"
#include "model/sample_columns.hpp"
#include "model/servers.hpp"
#include "model/spec.hpp"
#include "train/loop.hpp"

namespace dtrain::model {

/// A Model without what happens between epochs. Collective as described at Model.
class Learner {
  public:
    Learner(ModelSpec spec, ModelOptions options);

    void prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                 const OptimizerOptions& adjust);

    /// See Model.
    bool serve();

    /// @param caller function of Model: "fit" @throws NotPreparedError; UsageError on a parameter server; the
    /// second function on all ranks, and is collective
    void check_prepared(const char* caller) const;
    void check_prepared_together(const char* caller) const;

    /// @throws SampleError, UsageError on all ranks
    void check(const Samples& samples, Fed fed, std::int64_t batch_size) const;

    /// Validated samples, distributed over the ranks in epochs of training. @throws UsageError on all ranks
    /// if dropping the last batch would leave no step
    std::unique_ptr<train::Feeder> training_feeder(const Samples& samples, const FitOptions& options) const;

    /// @throws Error on all ranks if the loss is not finite, or the ranks' parameters differ @param
    /// after_step called with the number of completed steps and the mean loss of this rank's samples so far
    Metrics train_epoch(train::Feeder& feeder,
                        const std::function<void(std::int64_t done, double loss)>& after_step = {});

    /// For validated samples.
    Metrics evaluate(const Samples& samples, std::int64_t batch_size);
    Predictions predict(const Samples& samples, std::int64_t batch_size);

    /// See Model.
    std::optional<double> learning_rate() const;
    void set_learning_rate(double rate);
    void keep(const std::string& name, std::vector<double> numbers);
    std::optional<std::vector<double>> kept(const std::string& name) const;

    /// Requires ModelOptions::servers, see Model::save().
    void save_on_servers(const std::filesystem::path& path);

    StateCheckpoint position() const;
    Checkpoint checkpoint() const;

    /// See Model.
    void load(const std::filesystem::path& file);
    std::optional<std::filesystem::path> load_newest(const std::filesystem::path& folder,
                                                     const std::function<void(const std::string&)>& warn);

    /// "accuracy", "auc".
    std::vector<std::string> metric_names() const;

    /// Starts measuring the time of steps.
    void begin_times() { loop_->phases() = {}; }
    /// How all ranks spent their time since then. Collective. @param seconds elapsed
    std::vector<metrics::RankTimes> gather_times(double seconds) const;

    std::int64_t epochs() const { return loop_->position().epoch; }
    std::int64_t steps() const { return loop_->position().step; }
    /// Of the ranks of this kind, if some are servers.
    const Communicator& communicator() const { return options_.communicator; }
    const ModelOptions& options() const { return options_; }
    const State& state() const { return prepared_->state; }
    const Program& network() const { return network_; }

  private:
    struct Prepared {
        Optimizer optimizer;
        Loss loss;
        std::vector<Metric> metrics;
        OptimizerOptions adjust;
        std::map<std::string, std::string> job;
        State state;
        std::optional<double> rate = {};  ///< set explicitly; none: the program computes it
        checkpoint::Numbers kept = {};
    };

    /// A program for batches of one size.
    struct Compiled {
        std::int64_t local_batch;
        LossProgram names;   ///< of programs with a loss
        std::string output;  ///< of programs without a loss
        Executor executor;
        std::span<float> rate = {};  ///< of training programs whose rate is fed
    };

    const train::RankParts& parts() const { return loop_->parts(); }
    DistributedSampler::Options sampling(std::int64_t samples, std::int64_t batch_size) const;
    LossProgram minimized(std::int64_t local_batch, const Optimizer& optimizer, const Loss& loss,
                          const std::vector<Metric>& metrics, const OptimizerOptions& adjust,
                          bool feeds_rate) const;
    Program shared(Program minimized) const;
    LossProgram training_program(std::int64_t local_batch) const;
    ExecutorOptions executor_options(const std::vector<std::string>& keep) const;
    bool has_trainer(std::int64_t local_batch) const;
    Compiled& trainer(std::int64_t local_batch);
    Compiled& tester(std::int64_t local_batch);
    Compiled& predictor(std::int64_t local_batch);
    void load_on_servers(const std::filesystem::path& folder);
    void go_on_from(checkpoint::Restored found);

    ModelSpec spec_;
    ModelOptions options_;
    Program network_;                   ///< for one sample
    std::unique_ptr<Servers> servers_;  ///< null without servers
    std::optional<Prepared> prepared_;
    std::optional<Compiled> trainer_;
    std::optional<Compiled> tester_;
    std::optional<Compiled> predictor_;
    std::optional<train::Loop> loop_;  ///< set by the constructor
};

}  // namespace dtrain::model
