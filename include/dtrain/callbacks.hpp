// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/state_checkpoints.hpp>

/// Records of the epochs of Model::fit(), and callbacks that receive them.
namespace dtrain {

/// Means over the samples of all ranks, each counted once: padding is excluded. The same on all ranks.
struct Metrics {
    double loss = 0;                             ///< mean of the loss
    std::map<std::string, double> metrics = {};  ///< "accuracy", "auc": those passed to prepare()
    std::int64_t samples = 0;                    ///< how many samples were measured
    friend bool operator==(const Metrics&, const Metrics&) = default;
};
using Measures [[deprecated("it is called Metrics")]] = Metrics;  ///< Metrics

/// The rank that others waited for.
struct SlowRank {
    int rank = 0;            ///< the slow one
    std::string host = {};   ///< name of its node
    double waited = 0;       ///< seconds: the longest wait of any rank minus the wait of this one
    bool is_urgent = false;  ///< at least a second and a tenth of the time
    friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

/// Results of an epoch. The same on all ranks.
struct EpochRecord {
    std::int64_t epoch = 0;            ///< from 1, over all calls of fit()
    Metrics train = {};                ///< of each batch before its update
    std::optional<Metrics> eval = {};  ///< after the epoch; none without evaluation samples
    double seconds = 0;                ///< on the first rank, including evaluation
    double train_seconds = 0;          ///< on the first rank, without evaluation
    /// Of the last step; none: the program computes it.
    std::optional<double> learning_rate = {};
    /// None if no rank waited for more than 2% of the epoch and at least 10 ms, or if it is unknown:
    /// reductions in a GPU's captured graph of a step (ModelOptions::nccl) cannot be measured.
    std::optional<SlowRank> slowest = {};

    /// "loss", "accuracy", ..., "eval_loss", "eval_accuracy", ...; none if there is no such measure.
    std::optional<double> measure(const std::string& name) const;
};

class Model;

/// Progress within an epoch, as seen by one rank.
struct StepRecord {
    std::int64_t epoch = 0;   ///< the current one, from 1, over all calls of fit()
    std::int64_t epochs = 0;  ///< the epoch after which this fit() ends
    std::int64_t step = 0;    ///< completed steps of the epoch
    std::int64_t steps = 0;   ///< number of steps of the epoch
    std::int64_t batch = 0;   ///< samples of a step, over all ranks
    double loss = 0;          ///< mean over this rank's samples of the epoch so far
    /// Of this step; none: the program computes it.
    std::optional<double> learning_rate = {};
};

/// Called between the epochs of a fit(), and between its steps, on all ranks. If a callback throws on one
/// rank, fit() throws on all of them.
class Callback {
  public:
    Callback() = default;
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;
    virtual ~Callback() = default;

    /// Called before the first epoch.
    /// @param metric_names the names that EpochRecord::measure() will know
    virtual void on_begin(Model& model, const std::vector<std::string>& metric_names);

    /// Called before the first step of an epoch. @param record before any step
    virtual void on_epoch_begin(Model& model, const StepRecord& record);

    /// Called after each step. Must not take long or need other ranks; exceptions cannot be propagated.
    virtual void on_step_end(Model& model, const StepRecord& record) noexcept;

    /// Called between two steps: for short operations that the ranks do together, in the same order on all.
    /// An exception must be thrown on all ranks.
    virtual void between_steps(Model& model);

    /// Called after an epoch and its evaluation, before on_epoch_end() of any callback: for what checkpoints
    /// of this epoch are to contain.
    virtual void on_measured(Model& model, const EpochRecord& record);

    /// Called after an epoch and its evaluation.
    /// @return false: no further epoch. It is enough that one rank returns false.
    virtual bool on_epoch_end(Model& model, const EpochRecord& record) = 0;

    /// Called after the last epoch, unless fit() throws.
    virtual void on_finish(Model& model);

    /// Called at the very end, also if fit() throws. Must not need other ranks.
    /// @param failure what fit() throws; null: it returns
    virtual void on_end(Model& model, const std::exception* failure) noexcept;
};

/// Keeps the latest checkpoints in a folder, named by CheckpointFolder. Each is written atomically.
/// Model::load_newest(folder) resumes from there.
class Checkpoints final : public Callback {
  public:
    /// How many checkpoints are kept, how often and how they are written.
    struct Options {
        int keep = 3;            ///< number of checkpoints to keep
        std::int64_t every = 1;  ///< in epochs
        /// One file, written by the first rank; or a directory, of which each rank writes its part.
        CheckpointFormat format = CheckpointFormat::file;
        /// See CheckpointOptions.
        bool async = true;
        std::optional<int> shards = {};                 ///< see CheckpointOptions::shards
        bool collective = false;                        ///< see CheckpointOptions::collective
        std::map<std::string, std::string> hints = {};  ///< see CheckpointOptions::hints
    };

    /// @throws UsageError if keep or every is below 1
    explicit Checkpoints(std::filesystem::path folder, Options options);
    /// With default options.
    explicit Checkpoints(std::filesystem::path folder) : Checkpoints(std::move(folder), Options()) {}

    /// @throws UsageError on all ranks as StateCheckpoints
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    /// These throw Error on all ranks if a checkpoint cannot be written: with async, a later one of them
    /// reports it.
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void between_steps(Model& model) override;
    void on_finish(Model& model) override;

  private:
    std::filesystem::path folder_;
    Options options_;
    std::optional<StateCheckpoints> writer_;  ///< during a fit()
};

/// Stops if a measure has not improved for some epochs. A loss improves when it gets smaller, any other
/// measure when it gets larger. Each fit() starts counting again.
class EarlyStop final : public Callback {
  public:
    /// What is watched, and for how long.
    struct Options {
        std::string monitor = "eval_loss";  ///< a name of EpochRecord::measure()
        std::int64_t patience = 3;          ///< number of epochs without improvement after which it stops
        double min_delta = 0;               ///< an improvement must be larger than this
    };

    /// @throws UsageError if patience is below 1 or min_delta below 0
    explicit EarlyStop(Options options);

    /// @throws UsageError, listing the available metrics, if no record will have the monitored one
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

    /// Epoch and value of the best result; nothing before the first one.
    struct Best {
        std::int64_t epoch = 0;  ///< from 1
        double value = 0;        ///< of the measure
    };
    /// None before the first epoch.
    const std::optional<Best>& best() const { return best_; }

  private:
    Options options_;
    std::optional<Best> best_;
};

/// A step that is about to run.
struct NextStep {
    std::int64_t epoch = 1;  ///< the step's epoch, from 1, over all calls of fit()
    std::int64_t step = 0;   ///< completed steps of the epoch
    std::int64_t steps = 1;  ///< number of steps of the epoch
    std::int64_t done = 0;   ///< completed steps since the start of training: t of dtrain/learning_rate.hpp
    double rate = 0;         ///< of the previous step; prepare()'s for the very first
};

/// Sets the learning rate of each step to the value of a function. The first rank calls it for all steps of
/// an epoch before the first of them, and all ranks use its values. If the function depends only on its
/// argument, a resumed fit() is bitwise identical to an uninterrupted one.
///
///     RateFunction([](const NextStep& next) { return next.epoch < 10 ? 0.01 : 0.001; })
class RateFunction final : public Callback {
  public:
    /// Returns the rate of a step.
    using Function = std::function<double(const NextStep& next)>;

    /// @throws UsageError if there is no function
    explicit RateFunction(Function function);

    /// @throws UsageError if the program computes the rate itself
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    /// @throws UsageError naming the step if a rate is not a finite number >= 0; exceptions of the function
    void on_epoch_begin(Model& model, const StepRecord& record) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    Function function_;
    std::vector<double> rates_;  ///< of the steps of the epoch
};

/// Multiplies the learning rate by a factor if a measure has not improved for some epochs, as Paddle's and
/// Keras' ReduceLROnPlateau do. A loss improves when it gets smaller, any other measure when it gets larger.
/// Its counts are stored in checkpoints (see Model::keep()), regardless of the order of callbacks: a resumed
/// fit() is bitwise identical to an uninterrupted one. A further fit() continues the counts; prepare() resets
/// them.
class ReduceOnPlateau final : public Callback {
  public:
    /// What is watched, and how the rate follows.
    struct Options {
        std::string monitor = "eval_loss";  ///< a name of EpochRecord::measure()
        double factor = 0.1;                ///< multiplies the rate; between 0 and 1
        std::int64_t patience = 10;  ///< number of epochs without improvement after which the rate is reduced
        double min_delta = 1e-4;     ///< an improvement must be larger than this
        std::int64_t cooldown = 0;   ///< epochs after a reduction that do not count (in Keras the last does)
        double min_rate = 0;         ///< lower limit of the rate
    };

    /// @throws UsageError if factor is not between 0 and 1 (exclusive), patience is below 1, or another
    /// option is below 0
    explicit ReduceOnPlateau(Options options);

    /// @throws UsageError, listing the available metrics, if no record will have the monitored one, or if
    /// the program computes the rate itself
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    void on_measured(Model& model, const EpochRecord& record) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    Options options_;
};

/// Prints a line after each epoch on the first rank's standard output: the epoch and every measure; and
/// another one if ranks waited long for one rank (SlowRank::is_urgent).
class EpochLines final : public Callback {
  public:
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    std::vector<std::string> metric_names_;
};

/// Shows the progress of an epoch on the first rank's standard output: on a terminal in one line, cut to its
/// width, that is updated five times a second and removed at the end; elsewhere, as in logs, one line per
/// minute. The loss is that of the first rank's own samples. Put it before callbacks that print, so that its
/// line is removed before they do.
///
///     epoch 1/2 [==>       ] 43/157  12345 samples/s  loss 0.5123  0:12 left
class ProgressBar final : public Callback {
  public:
    ProgressBar();
    ~ProgressBar() override;

    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void on_end(Model& model, const std::exception* failure) noexcept override;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

/// How often rows are written within an epoch.
struct RowOptions {
    /// Steps between two rows within an epoch; none: about 20 rows per epoch.
    std::optional<std::int64_t> every_steps = {};
};

/// Base class of JsonLines, TensorBoard and ReportPage: the first rank writes a row after each epoch, with
/// "train_loss", "train_accuracy", ..., "eval_loss", ... and "samples_per_second" (without the evaluation),
/// and rows within epochs, with "loss", the mean over this rank's samples since the previous row, and
/// "samples_per_second" of all ranks since then. The epoch's last step has no separate row. All rows have
/// "learning_rate" unless the program computes it. If something can no longer be written, this is reported
/// once on standard error, and training continues.
class RunRecord : public Callback {
  public:
    RunRecord(const RunRecord&) = delete;
    RunRecord& operator=(const RunRecord&) = delete;
    ~RunRecord() override;

    /// @throws if nothing can be written there: UsageError on the first rank, Error on the others
    void on_begin(Model& model, const std::vector<std::string>& metric_names) override;
    void on_epoch_begin(Model& model, const StepRecord& record) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void on_end(Model& model, const std::exception* failure) noexcept override;

  private:
    friend class JsonLines;
    friend class TensorBoard;
    friend class ReportPage;
    struct Content;

    explicit RunRecord(std::unique_ptr<Content> content);

    std::unique_ptr<Content> content_;
};

/// Appends lines of JSON to a file: docs/following.md, "JSON lines".
class JsonLines final : public RunRecord {
  public:
    /// @param file created if missing; its folder must exist @throws UsageError if every_steps is below 1
    explicit JsonLines(const std::filesystem::path& file, const RowOptions& rows = {});
};

/// An event file in a folder, which `tensorboard --logdir` shows.
class TensorBoard final : public RunRecord {
  public:
    /// @throws UsageError if every_steps is below 1
    explicit TensorBoard(const std::filesystem::path& folder, const RowOptions& rows = {});
};

/// One self-contained HTML page: curves, the placement of the ranks, and the reason if fit() failed. Written
/// at the beginning, at most every five seconds, and at the end.
class ReportPage final : public RunRecord {
  public:
    /// @throws UsageError if every_steps is below 1
    explicit ReportPage(const std::filesystem::path& file, std::string title = "training",
                        const RowOptions& rows = {});
};

}  // namespace dtrain
