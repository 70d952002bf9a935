// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <dtrain/callbacks.hpp>
#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/compute_type.hpp>
#include <dtrain/dataset.hpp>
#include <dtrain/device.hpp>
#include <dtrain/error.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/tensor.hpp>

/// Training without a loop of one's own: a network, what it is to learn, and samples. The same program trains
/// on one rank and on many: docs/programs.md, "Model".
namespace dtrain {

/// A variable that has a value for every sample: an input of the network or a label.
struct SampleSpec {
    std::string name = {};
    Shape shape = {};                   ///< of one sample: {64}, {1, 28, 28}; {}: one number
    DataType type = DataType::float32;  ///< float32 or int64
    friend bool operator==(const SampleSpec&, const SampleSpec&) = default;
};

/// Appends the layers of a network to a program and returns the name of its output, float32 [batch, ...].
/// Called once for each batch size, and must append the same parameters for all: layers::reshape() takes -1
/// for the batch.
/// @param inputs names of the inputs' variables, [batch, shape of a sample]
using Network = std::function<std::string(Program& program, const std::vector<std::string>& inputs)>;

/// The same with one input.
using SimpleNetwork = std::function<std::string(Program& program, const std::string& x)>;

/// -log softmax(output)[label]: output [batch, classes], one label without a shape, int64, 0..classes-1.
struct CrossEntropyLoss {};

/// (output - label)^2: label of the output's shape. A sample's loss is the mean over its elements.
struct MeanSquareErrorLoss {};

/// -label log p - (1 - label) log(1 - p) with p = sigmoid(output): label of the output's shape, float32 in
/// 0..1. A sample's loss is the mean over its elements.
struct BceWithLogitsLoss {};

/// What is made small: the mean over the samples of a batch.
using Loss = std::variant<CrossEntropyLoss, MeanSquareErrorLoss, BceWithLogitsLoss>;

/// "accuracy": the part of the samples where the largest output (the first one of equals) is at the label.
/// Output [batch, classes], one label without a shape, int64.
struct Accuracy {};

/// "auc": the area under the receiver operating characteristic, counted exactly over all samples (on the
/// first rank, which gets 8 bytes of each). One output for each sample, the higher the likelier is label 1,
/// and one float32 label, 1 or 0.
struct AreaUnderCurve {};

using Metric = std::variant<Accuracy, AreaUnderCurve>;

/// Values of one variable for all samples, one sample after the other. Memory of the caller's.
struct SampleValues {
    std::string name = {};  ///< of a SampleSpec
    std::variant<std::span<const float>, std::span<const std::int64_t>> values = {};
};

/// The samples that a Model learns from, or is tested with: a view, which is good as long as what it was made
/// of. Every rank has all of them; each reads those that are its own.
class Samples {
  public:
    /// Its x goes to the network's only input, its labels to the only label.
    Samples(const DataSource& source) : source_(&source) {}  // NOLINT: a view, as std::span is
    Samples(std::vector<SampleValues> values) : values_(std::move(values)) {}  // NOLINT
    Samples(std::initializer_list<SampleValues> values) : values_(values) {}

    const DataSource* source() const { return source_; }  ///< or none
    const std::vector<SampleValues>& values() const { return values_; }

  private:
    const DataSource* source_ = nullptr;
    std::vector<SampleValues> values_;
};

/// Samples that do not fit a model.
class SampleError : public UsageError {
  public:
    SampleError(const std::string& message, std::string variable)
        : UsageError(message), variable_(std::move(variable)) {}

    /// The input or label that does not fit.
    const std::string& variable() const { return variable_; }

  private:
    std::string variable_;
};

/// A function of a Model was called before prepare().
class NotPreparedError : public UsageError {
  public:
    using UsageError::UsageError;
};

struct FitOptions {
    std::optional<Samples> eval = {};  ///< evaluated after every epoch, batch_size at a time
    std::int64_t epochs = 1;           ///< of this call; 0: none
    /// Samples of a step on all ranks together (Paddle's is each card's), so that any number of ranks learns
    /// the same. Slots for which no sample is left repeat one: those count in the step, never in Measures.
    std::int64_t batch_size = 32;
    /// What such slots have, or that there are none; not LastBatch::uneven, which needs parameter servers.
    LastBatch last_batch = LastBatch::repeat;
    bool shuffle = true;  ///< another order in every epoch, from ModelOptions::seed
    std::vector<std::shared_ptr<Callback>> callbacks = {};  ///< called in this order
};

struct EvaluateOptions {
    std::int64_t batch_size = 256;  ///< of all ranks together
};

/// The network's output for all samples in their order.
struct Predictions {
    Shape shape = {};                ///< [samples, ...]
    std::vector<float> values = {};  ///< in C order
};

struct ModelOptions {
    /// The ranks that train together; the default is this process alone. ParallelEnv::communicator() has one
    /// rank when the program was started alone and all of them under a launcher. A model without one in a job
    /// of several ranks says so on stderr when it is trained: each rank has a model of its own.
    Communicator communicator = {};
    bool trains_alone = false;  ///< that is meant, and not said
    /// Each step's batch is made of so many parts, whose gradients and measures are added in one order: 1, 2,
    /// ... virtual_ranks ranks train to the same bits. 0: as many parts as ranks.
    int virtual_ranks = 0;
    /// 0: gradients are averaged in every step. Else each rank takes so many steps by itself before
    /// parameters are averaged, see with_local_sgd(). After every epoch these and optimizer state are, so
    /// that between epochs there is one model. Not with virtual_ranks, products of float16 or FTRL.
    std::int64_t local_sgd = 0;
    std::uint64_t seed = 1;  ///< of initial parameters and of the order of samples
    int threads = 0;         ///< as ExecutorOptions::threads
    /// As ExecutorOptions::device and ExecutorOptions::nccl.
    std::optional<Device> device = {};
    bool nccl = false;
    /// As ExecutorOptions::products, in training, evaluate() and predict(); with float16 the loss is scaled,
    /// see with_loss_scaling().
    ComputeType products = ComputeType::float32;
    LossScaling loss_scaling = {};  ///< of products of float16
    /// As ExecutorOptions::memory_optimize, in training, evaluate() and predict(): the same bits in less
    /// memory.
    bool memory_optimize = false;
};

/// A network that can be trained, tested and used. The constructor, prepare(), fit(), evaluate(), predict(),
/// save() and load() are collective over the communicator's ranks, which call them alike; what is wrong with
/// arguments is thrown on all ranks. Use from the thread that may call MPI.
///
///     const dtrain::ParallelEnv env(argc, argv);
///     dtrain::Model model([](Program& p, const std::string& x) { return layers::fc(p, x, 10); },
///                         {"x", {64}}, {"label", {}, DataType::int64}, {.communicator =
///                         env.communicator()});
///     model.prepare(Adam{}, CrossEntropyLoss{}, {Accuracy{}});
///     model.fit(train, {.eval = test, .epochs = 20, .batch_size = 64});
class Model {
  public:
    /// @throws UsageError when there is no input, or virtual ranks are fewer than ranks, or local_sgd is
    /// below 0 or beside what it does not go with, or this CPU has not what `products` wants, or there is no
    /// such GPU; ProgramError when a spec or the network does not fit
    Model(Network network, std::vector<SampleSpec> inputs, std::vector<SampleSpec> labels,
          ModelOptions options = {});
    Model(SimpleNetwork network, SampleSpec input, SampleSpec label, ModelOptions options = {});
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    /// Says how it is trained. Parameters are at their initial values then, and no epoch is done: also when
    /// it was prepared before. Learning-rate schedules, clipping and decay are in `adjust`; schedules count
    /// steps in the State and so go on when a checkpoint is loaded. RateFunction and ReduceOnPlateau set the
    /// rate of a model without one.
    /// @throws ProgramError when loss, metrics or optimizer do not fit network and labels
    void prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics = {},
                 const OptimizerOptions& adjust = {});

    /// Trains some epochs, or until a callback stops it. @return a record for each epoch of this call
    /// @throws NotPreparedError; SampleError when the samples do not fit; UsageError when an option is out of
    /// range, a sample cannot be read or the ranks have other numbers of samples; Error when the loss is no
    /// finite number any more, or the ranks' parameters differ; what a callback throws
    std::vector<EpochRecord> fit(const Samples& train, const FitOptions& options = {});

    /// Changes nothing. @throws as fit()
    Measures evaluate(const Samples& samples, const EvaluateOptions& options = {});

    /// On all ranks. Labels are not needed. @throws as fit()
    Predictions predict(const Samples& samples, const EvaluateOptions& options = {});

    /// Writes parameters, optimizer state and the epochs done as a checkpoint, on the first rank.
    /// @throws NotPreparedError; Error on all ranks when it cannot be written
    void save(const std::filesystem::path& path, CheckpointFormat format = CheckpointFormat::file) const;

    /// Goes on where save() or Checkpoints stopped, bit for bit when batch_size and the number of ranks (or
    /// virtual ranks) are the same; the seed becomes the checkpoint's. Only the first rank reads it.
    /// @throws NotPreparedError; UsageError on all ranks when it cannot be read, or network, loss or
    /// optimizer are others: the first difference is named. The model is as it was then.
    void load(const std::filesystem::path& path);

    /// load() of the newest checkpoint in the folder that can be read; the first rank's folder counts.
    /// @param warn told, on the first rank, of those that are damaged
    /// @return which it was; none: there is no checkpoint, and nothing has changed
    std::optional<std::filesystem::path> load_newest(
        const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn = {});

    /// What save() would write. @throws NotPreparedError
    Checkpoint checkpoint() const;

    /// The same without the tensors, which are those of state(). @throws NotPreparedError
    StateCheckpoint position() const;

    /// Of the next step: prepare()'s, what was set since, or what a loaded checkpoint has. None: the program
    /// computes it, by OptimizerOptions::schedule. @throws NotPreparedError
    std::optional<double> learning_rate() const;

    /// From the next step on, also between the steps of a fit(); all ranks set the same. Checkpoints have it
    /// then, and load() sets it. The model is compiled anew at the first time; from then on it computes with
    /// the float32 that is nearest to the rate, as schedules do: bits may differ from those of a rate that
    /// was given to prepare().
    /// @throws NotPreparedError; UsageError when it is no finite number of 0 or more, or
    /// OptimizerOptions::schedule is set
    void set_learning_rate(double rate);

    /// Puts numbers into checkpoints from now on, for callbacks that are to go on where they were; all ranks
    /// keep the same. prepare() forgets them, load() has those of the checkpoint.
    /// @param name whatever has been kept under it is replaced
    /// @throws NotPreparedError; UsageError when the name is empty or has a '/', or there is no number
    void keep(const std::string& name, std::vector<double> numbers);

    /// What keep() was given, or a loaded checkpoint has. @throws NotPreparedError
    std::optional<std::vector<double>> kept(const std::string& name) const;

    std::int64_t epochs_done() const;
    std::int64_t steps_done() const;
    const Communicator& communicator() const;

    /// Parameters and optimizer state. @throws NotPreparedError
    const State& state() const;

    /// Of the network alone, for one sample: what prepare() adds its loss to.
    const Program& network() const;

  private:
    friend class RunRecord;
    struct Content;

    /// Where the time of all ranks went, since fit() began, at the end of the last epoch.
    const std::vector<report::RankTimes>& rank_times() const;
    void note_times(EpochRecord& record, double seconds);
    std::vector<EpochRecord> fit_checked(const Samples& train, const FitOptions& options,
                                         const std::vector<std::string>& names);

    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
