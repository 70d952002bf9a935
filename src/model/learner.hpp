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
#include "model/feeder.hpp"
#include "model/phase_clock.hpp"
#include "model/sample_columns.hpp"
#include "model/shares.hpp"
#include "model/spec.hpp"
#include "report/run.hpp"

namespace dtrain::model {

/// A Model without what happens between epochs. Collective as Model says.
class Learner {
  public:
    Learner(ModelSpec spec, ModelOptions options);

    void prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics,
                 const OptimizerOptions& adjust);

    /// @param caller of the Model: "fit"
    /// @throws NotPreparedError; the second one on all ranks, and is collective
    void check_prepared(const char* caller) const;
    void check_prepared_together(const char* caller) const;

    /// @throws SampleError, UsageError on all ranks
    void check(const Samples& samples, Fed fed, std::int64_t batch_size) const;

    /// Samples that were checked, dealt to the ranks in epochs of training.
    /// @throws UsageError on all ranks when dropping the last batch would leave no step
    std::unique_ptr<Feeder> training_feeder(const Samples& samples, const FitOptions& options) const;

    /// @throws Error on all ranks when the loss is no finite number, or the ranks' parameters differ
    /// @param after_step told how many steps are done, and the mean loss of this rank's samples so far
    Measures train_epoch(Feeder& feeder,
                         const std::function<void(std::int64_t done, double loss)>& after_step = {});

    /// Of samples that were checked.
    Measures evaluate(const Samples& samples, std::int64_t batch_size);
    Predictions predict(const Samples& samples, std::int64_t batch_size);

    /// As those of Model.
    std::optional<double> learning_rate() const;
    void set_learning_rate(double rate);
    void keep(const std::string& name, std::vector<double> numbers);
    std::optional<std::vector<double>> kept(const std::string& name) const;

    StateCheckpoint position() const;
    Checkpoint checkpoint() const;

    /// As those of Model.
    void load(const std::filesystem::path& file);
    std::optional<std::filesystem::path> load_newest(const std::filesystem::path& folder,
                                                     const std::function<void(const std::string&)>& warn);

    /// "accuracy", "auc".
    std::vector<std::string> metric_names() const;

    /// Counts the time of steps from now on.
    void begin_times() { phases_ = {}; }
    /// Where the time of all ranks went since then. Collective. @param seconds that passed
    std::vector<report::RankTimes> gather_times(double seconds) const;

    std::int64_t epochs() const { return epochs_; }
    std::int64_t steps() const { return steps_; }
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
        std::optional<double> rate = {};  ///< that was set; none: the program has its own
        checkpoint::Numbers kept = {};
    };

    /// A program for batches of one size.
    struct Compiled {
        std::int64_t local_batch;
        LossProgram names;   ///< of those that have a loss
        std::string output;  ///< of those that have none
        Executor executor;
        std::span<float> rate = {};  ///< of those that train, and are fed it
    };

    DistributedSampler::Options sampling(std::int64_t samples, std::int64_t batch_size) const;
    LossProgram training_program(std::int64_t local_batch, const Optimizer& optimizer, const Loss& loss,
                                 const std::vector<Metric>& metrics, const OptimizerOptions& adjust,
                                 bool feeds_rate) const;
    ExecutorOptions executor_options(const std::vector<std::string>& keep) const;
    bool has_trainer(std::int64_t local_batch) const;
    Compiled& trainer(std::int64_t local_batch);
    Compiled& tester(std::int64_t local_batch);
    Compiled& predictor(std::int64_t local_batch);
    void go_on_from(checkpoint::Restored found);

    ModelSpec spec_;
    ModelOptions options_;
    Shares shares_;
    Program network_;  ///< for one sample
    std::optional<Prepared> prepared_;
    std::optional<Compiled> trainer_;
    std::optional<Compiled> tester_;
    std::optional<Compiled> predictor_;
    std::int64_t epochs_ = 0;
    std::int64_t steps_ = 0;
    PhaseClock phases_;
};

}  // namespace dtrain::model
