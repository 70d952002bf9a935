// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// What Model::fit() tells of its epochs, and whom.
namespace dtrain {

namespace report {
class Recorder;
struct Outputs;
struct RankTimes;
}  // namespace report
namespace topology {
class GpuWatch;
}

/// Means over samples of all ranks, each counted once: padding is left out. The same on all ranks.
struct Measures {
    double loss = 0;
    std::map<std::string, double> metrics = {};  ///< "accuracy", "auc": those that prepare() was given
    std::int64_t samples = 0;
    friend bool operator==(const Measures&, const Measures&) = default;
};

/// The rank that others waited for.
struct SlowRank {
    int rank = 0;
    std::string host = {};
    double waited = 0;       ///< seconds, by the rank that waited most, more than this one
    bool is_urgent = false;  ///< a second at least, and a tenth of the time
    friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

/// What an epoch was like. The same on all ranks.
struct EpochRecord {
    std::int64_t epoch = 0;             ///< from 1, over all calls of fit()
    Measures train = {};                ///< of each batch before it was learnt
    std::optional<Measures> eval = {};  ///< after the epoch; none without samples for it
    double seconds = 0;                 ///< that the first rank took, evaluation included
    double train_seconds = 0;           ///< of these, without the evaluation
    /// Of the last step; none: the program computes it.
    std::optional<double> learning_rate = {};
    /// None when nobody waited for more than 2% of the epoch and for 10 ms, or nobody knows: sums that GPUs
    /// do in the graph of a step (ModelOptions::nccl) are seen by nobody.
    std::optional<SlowRank> slowest = {};

    /// "loss", "accuracy", ..., "eval_loss", "eval_accuracy", ...; none when there is no such measure.
    std::optional<double> measure(const std::string& name) const;
};

class Model;

/// Where an epoch stands, as one rank sees it.
struct StepRecord {
    std::int64_t epoch = 0;   ///< in progress, from 1, over all calls of fit()
    std::int64_t epochs = 0;  ///< after which this fit() ends
    std::int64_t step = 0;    ///< of the epoch, done
    std::int64_t steps = 0;   ///< of the epoch
    std::int64_t batch = 0;   ///< samples of a step, of all ranks
    double loss = 0;          ///< mean over this rank's samples of the epoch so far
    /// Of this step; none: the program computes it.
    std::optional<double> learning_rate = {};
};

/// What is done between the epochs of a fit(), and between its steps. Called on all ranks. When one throws on
/// one rank, fit() throws on all of them.
class Callback {
  public:
    Callback() = default;
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;
    virtual ~Callback() = default;

    /// Before the first epoch.
    /// @param measures the names that EpochRecord::measure() will know
    virtual void on_begin(Model& model, const std::vector<std::string>& measures);

    /// Before the first step of an epoch. @param record of no step yet
    virtual void on_epoch_begin(Model& model, const StepRecord& record);

    /// After each step. Not for anything that takes long or needs other ranks, and there is nobody whom an
    /// exception would reach.
    virtual void on_step_end(Model& model, const StepRecord& record) noexcept;

    /// Between two steps: for what the ranks do together and does not take long, in the same order on all.
    /// What it throws must be thrown on all of them.
    virtual void between_steps(Model& model);

    /// After an epoch and its evaluation, before on_epoch_end() of any callback: for what checkpoints of this
    /// epoch are to have.
    virtual void on_measured(Model& model, const EpochRecord& record);

    /// After an epoch and its evaluation.
    /// @return false: no further epoch. One rank that says so is enough.
    virtual bool on_epoch_end(Model& model, const EpochRecord& record) = 0;

    /// After the last epoch, unless fit() throws.
    virtual void on_finish(Model& model);

    /// At the very end, also when fit() throws. Not for anything that needs other ranks.
    /// @param failure what it throws; none: it returns
    virtual void on_end(Model& model, const std::exception* failure) noexcept;
};

/// Keeps the last checkpoints in a folder: CheckpointFolder has their names. Each is there whole or not at
/// all. Model::load_newest(folder) goes on from there.
class Checkpoints final : public Callback {
  public:
    struct Options {
        int keep = 3;
        std::int64_t every = 1;  ///< epochs
        /// One file, written by the first rank; or a directory, of which each rank writes its part.
        CheckpointFormat format = CheckpointFormat::file;
        /// As in CheckpointOptions.
        bool async = true;
        std::optional<int> shards = {};
        bool collective = false;
        std::map<std::string, std::string> hints = {};
    };

    /// @throws UsageError when keep or every are below 1
    explicit Checkpoints(std::filesystem::path folder, Options options);
    explicit Checkpoints(std::filesystem::path folder) : Checkpoints(std::move(folder), Options()) {}

    /// @throws UsageError on all ranks as StateCheckpoints
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    /// These throw Error on all ranks when a checkpoint cannot be written: with async, that is found out by
    /// a later one of them.
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void between_steps(Model& model) override;
    void on_finish(Model& model) override;

  private:
    std::filesystem::path folder_;
    Options options_;
    std::optional<StateCheckpoints> writer_;  ///< during a fit()
};

/// Stops when a measure has become no better for some epochs. A loss is better when it is smaller, any other
/// measure when it is larger. A fit() begins to count anew.
class EarlyStop final : public Callback {
  public:
    struct Options {
        std::string monitor = "eval_loss";
        std::int64_t patience = 3;  ///< epochs without a better one, after which it stops
        double min_delta = 0;       ///< better is more than that
    };

    /// @throws UsageError when patience is below 1 or min_delta below 0
    explicit EarlyStop(Options options);

    /// @throws UsageError when no record will have what is monitored, naming what they will have
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

    /// Epoch and value of the best one; nothing before the first.
    struct Best {
        std::int64_t epoch = 0;
        double value = 0;
    };
    const std::optional<Best>& best() const { return best_; }

  private:
    Options options_;
    std::optional<Best> best_;
};

/// A step that is about to be done.
struct NextStep {
    std::int64_t epoch = 1;  ///< that it is of, from 1, over all calls of fit()
    std::int64_t step = 0;   ///< steps of the epoch that are done
    std::int64_t steps = 1;  ///< of the epoch
    std::int64_t done = 0;   ///< steps that are done since the very first: t of dtrain/learning_rate.hpp
    double rate = 0;         ///< of the step before; prepare()'s in the very first
};

/// Sets the learning rate of each step to what a function says. The first rank asks it, for all steps of an
/// epoch before the first of them, and all ranks have what it says. A fit() that goes on from a checkpoint
/// has the same bits as one that was not stopped when the function depends on its argument alone.
///
///     RateFunction([](const NextStep& next) { return next.epoch < 10 ? 0.01 : 0.001; })
class RateFunction final : public Callback {
  public:
    using Function = std::function<double(const NextStep& next)>;

    /// @throws UsageError when there is no function
    explicit RateFunction(Function function);

    /// @throws UsageError when the program computes the rate itself
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    /// @throws UsageError when a rate is no finite number of 0 or more, naming the step; what the function
    /// throws
    void on_epoch_begin(Model& model, const StepRecord& record) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    Function function_;
    std::vector<double> rates_;  ///< of the steps of the epoch
};

/// Multiplies the learning rate by a factor when a measure has become no better for some epochs, as Paddle's
/// and Keras' ReduceLROnPlateau do. A loss is better when it is smaller, any other measure when it is larger.
/// What it counts is in checkpoints (as Model::keep() has it), whatever the order of callbacks: a fit() that
/// goes on has the same bits as one that was not stopped. So a further fit() counts on; prepare() begins
/// anew.
class ReduceOnPlateau final : public Callback {
  public:
    struct Options {
        std::string monitor = "eval_loss";
        double factor = 0.1;
        std::int64_t patience = 10;  ///< epochs without a better one, after which the rate becomes smaller
        double min_delta = 1e-4;     ///< better is more than that
        std::int64_t cooldown = 0;   ///< epochs after that which do not count (of Keras' the last one does)
        double min_rate = 0;         ///< no smaller one
    };

    /// @throws UsageError when factor is not above 0 and below 1, patience is below 1, or another one below 0
    explicit ReduceOnPlateau(Options options);

    /// @throws UsageError when no record will have what is monitored, naming what they will have, or the
    /// program computes the rate itself
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    void on_measured(Model& model, const EpochRecord& record) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    Options options_;
};

/// Prints a line after each epoch, on the first rank's standard output: the epoch and every measure; and
/// another one where the others waited long for a rank (SlowRank::is_urgent).
class EpochLines final : public Callback {
  public:
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    std::vector<std::string> measures_;
};

/// Shows how far an epoch is, on the first rank's standard output: on a terminal in one line that changes
/// five times a second, cut to its width, and leaves nothing; elsewhere, as in logs, as a line a minute. The
/// loss is that of the first rank's own samples. To be named before callbacks that print, so that its line is
/// gone when they do.
///
///     epoch 1/2 [==>       ] 43/157  12345 samples/s  loss 0.5123  0:12 left
class ProgressBar final : public Callback {
  public:
    ProgressBar();
    ~ProgressBar() override;

    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void on_end(Model& model, const std::exception* failure) noexcept override;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

struct RowOptions {
    /// A row within an epoch after so many of its steps; none: an epoch has about 20.
    std::optional<std::int64_t> every_steps = {};
};

/// What JsonLines, TensorBoard and ReportPage have in common: the first rank writes a row after each epoch,
/// with "train_loss", "train_accuracy", ..., "eval_loss", ... and "samples_per_second" (without the
/// evaluation), and rows within epochs, with "loss", the mean over this rank's samples since the row before,
/// and "samples_per_second", of all ranks since then. The epoch's last step has no row of its own. All have
/// "learning_rate" where the program does not compute it. When something can no longer be written that is
/// said once on standard error, and training goes on.
class RunRecord : public Callback {
  public:
    RunRecord(const RunRecord&) = delete;
    RunRecord& operator=(const RunRecord&) = delete;
    ~RunRecord() override;

    /// @throws when nothing can be written there: UsageError on the first rank, Error on the others
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    void on_epoch_begin(Model& model, const StepRecord& record) override;
    void on_step_end(Model& model, const StepRecord& record) noexcept override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;
    void on_end(Model& model, const std::exception* failure) noexcept override;

  protected:
    /// @throws UsageError when every_steps is below 1
    RunRecord(const report::Outputs& outputs, std::string title, const RowOptions& rows);

  private:
    /// At the last row of an epoch.
    struct Position {
        std::int64_t step = 0;
        double loss_sum = 0;  ///< of the mean losses of steps
        double seconds = 0;   ///< since begin_
    };

    double seconds() const;

    std::unique_ptr<report::Outputs> outputs_;
    std::string title_;
    RowOptions rows_;
    std::int64_t every_steps_ = 1;
    Position last_;
    std::vector<std::string> measures_;
    std::unique_ptr<report::Recorder> recorder_;
    std::unique_ptr<topology::GpuWatch> gpus_;
    std::chrono::steady_clock::time_point begin_;
};

/// Lines of JSON, added to what the file has: docs/following.md, "JSON lines".
class JsonLines final : public RunRecord {
  public:
    explicit JsonLines(const std::filesystem::path& file, const RowOptions& rows = {});
};

/// A file of events in a folder, which `tensorboard --logdir` shows.
class TensorBoard final : public RunRecord {
  public:
    explicit TensorBoard(const std::filesystem::path& folder, const RowOptions& rows = {});
};

/// One page of HTML that needs nothing else: curves, where the ranks are, and why fit() failed if it did.
/// Written at the beginning, every five seconds at most, and at the end.
class ReportPage final : public RunRecord {
  public:
    explicit ReportPage(const std::filesystem::path& file, std::string title = "training",
                        const RowOptions& rows = {});
};

}  // namespace dtrain
