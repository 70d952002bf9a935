// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/checkpoint.hpp>

/// What Model::fit() tells of its epochs, and whom.
namespace dtrain {

/// Means over samples of all ranks, each counted once: padding is left out. The same on all ranks.
struct Measures {
    double loss = 0;
    std::map<std::string, double> metrics = {};  ///< "accuracy", "auc": those that prepare() was given
    std::int64_t samples = 0;
    friend bool operator==(const Measures&, const Measures&) = default;
};

/// What an epoch was like. The same on all ranks.
struct EpochRecord {
    std::int64_t epoch = 0;             ///< from 1, over all calls of fit()
    Measures train;                     ///< of each batch before it was learnt
    std::optional<Measures> eval = {};  ///< after the epoch; none without samples for it
    double seconds = 0;                 ///< that the first rank took, evaluation included

    /// "loss", "accuracy", ..., "eval_loss", "eval_accuracy", ...; none when there is no such measure.
    std::optional<double> measure(const std::string& name) const;
};

class Model;

/// What is done between the epochs of a fit(). Called on all ranks. When one throws on one rank, fit() throws
/// on all of them.
class Callback {
  public:
    Callback() = default;
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;
    virtual ~Callback() = default;

    /// Before the first epoch.
    /// @param measures the names that EpochRecord::measure() will know
    virtual void on_begin(Model& model, const std::vector<std::string>& measures);

    /// After an epoch and its evaluation.
    /// @return false: no further epoch. One rank that says so is enough.
    virtual bool on_epoch_end(Model& model, const EpochRecord& record) = 0;
};

/// Keeps the last checkpoints in a folder: CheckpointFolder has their names. Written by the first rank, whole
/// or not at all. Model::load_newest(folder) goes on from there.
class Checkpoints final : public Callback {
  public:
    struct Options {
        int keep = 3;
        std::int64_t every = 1;  ///< epochs
        CheckpointFormat format = CheckpointFormat::file;
    };

    /// @throws UsageError when keep or every are below 1
    explicit Checkpoints(std::filesystem::path folder, const Options& options);
    explicit Checkpoints(std::filesystem::path folder) : Checkpoints(std::move(folder), Options()) {}

    /// @throws Error on all ranks when the checkpoint cannot be written
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    CheckpointFolder folder_;
    Options options_;
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

/// Prints a line after each epoch, on the first rank's standard output: the epoch and every measure.
class EpochLines final : public Callback {
  public:
    void on_begin(Model& model, const std::vector<std::string>& measures) override;
    bool on_epoch_end(Model& model, const EpochRecord& record) override;

  private:
    std::vector<std::string> measures_;
};

}  // namespace dtrain
