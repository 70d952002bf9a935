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
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>
#include <dtrain/program.hpp>
#include <dtrain/sampler.hpp>
#include <dtrain/tensor.hpp>
#include <dtrain/var.hpp>

namespace dtrain::detail {
struct ModelAccess;
}

/// Training without a hand-written loop: a network, a loss and samples. The same program trains on one rank
/// and on many: docs/programs.md, "Model".
namespace dtrain {

/// A variable that has a value for every sample: an input of the network or a label.
struct SampleSpec {
    std::string name = {};              ///< of the variable
    Shape shape = {};                   ///< of one sample: {64}, {1, 28, 28}; {}: one number
    DataType type = DataType::float32;  ///< float32 or int64
    friend bool operator==(const SampleSpec&, const SampleSpec&) = default;
};

/// Appends the layers of a network to a program and returns its output, float32 [batch, ...].
/// Called once for each batch size; must append the same parameters each time: layers::reshape() accepts -1
/// for the batch.
/// @param inputs the variables of the inputs, [batch, shape of a sample]
using Network = std::function<Var(Program& program, const Vars& inputs)>;

/// The same with one input.
using SimpleNetwork = std::function<Var(Program& program, const Var& x)>;

/// -log softmax(output)[label]: output [batch, classes]; one label without a shape, int64, 0..classes-1.
struct CrossEntropyLoss {};

/// (output - label)^2: the label has the output's shape. A sample's loss is the mean over its elements.
struct MSELoss {};

using MeanSquareErrorLoss [[deprecated("it is called MSELoss")]] = MSELoss;  ///< MSELoss

/// -label log p - (1 - label) log(1 - p) with p = sigmoid(output): the label has the output's shape, float32
/// in 0..1. A sample's loss is the mean over its elements.
struct BCEWithLogitsLoss {};

/// BCEWithLogitsLoss
using BceWithLogitsLoss [[deprecated("it is called BCEWithLogitsLoss")]] = BCEWithLogitsLoss;

/// The function to minimise: the mean over the samples of a batch.
using Loss = std::variant<CrossEntropyLoss, MSELoss, BCEWithLogitsLoss>;

/// "accuracy": the fraction of samples whose largest output (the first one of equals) is at the label. Output
/// [batch, classes]; one label without a shape, int64.
struct Accuracy {};

/// "auc": the area under the receiver operating characteristic, computed exactly over all samples (on the
/// first rank, which receives 8 bytes per sample). One output per sample, higher if label 1 is more likely,
/// and one float32 label, 1 or 0.
struct AreaUnderCurve {};

/// What evaluate() measures besides the loss.
using Metric = std::variant<Accuracy, AreaUnderCurve>;

/// Values of one variable for all samples, one sample after the other. The memory is owned by the caller.
struct SampleValues {
    std::string name = {};  ///< name of a SampleSpec
    /// all samples, one after the other
    std::variant<std::span<const float>, std::span<const std::int64_t>> values = {};
};

/// The samples that a Model is trained or evaluated on: a non-owning view, valid as long as the data it was
/// made from. Every rank has all samples; each reads only its own part.
class Samples {
  public:
    /// The source's x is bound to the network's only input, its labels to the only label.
    Samples(const DataSource& source) : source_(&source) {}  // NOLINT: a view, as std::span is
    /// Values of each variable of the network.
    Samples(std::vector<SampleValues> values) : values_(std::move(values)) {}  // NOLINT
    /// Values of each variable of the network.
    Samples(std::initializer_list<SampleValues> values) : values_(values) {}

    const DataSource* source() const { return source_; }  ///< null without a source
    /// Empty with a source.
    const std::vector<SampleValues>& values() const { return values_; }

  private:
    const DataSource* source_ = nullptr;
    std::vector<SampleValues> values_;
};

/// Samples that do not match a model.
class SampleError : public UsageError {
  public:
    /// @param variable the input or label that does not match
    SampleError(const std::string& message, std::string variable)
        : UsageError(message), variable_(std::move(variable)) {}

    /// The input or label that does not match.
    const std::string& variable() const { return variable_; }

  private:
    std::string variable_;
};

/// A function of a Model was called before prepare().
class NotPreparedError : public UsageError {
  public:
    /// Constructed from the message.
    using UsageError::UsageError;
};

/// How Model::fit() trains.
struct FitOptions {
    std::optional<Samples> eval = {};  ///< evaluated after every epoch, batch_size at a time
    std::int64_t epochs = 1;           ///< in this call; 0: none
    /// Samples per step over all ranks together (in Paddle: per card), so that any number of ranks trains the
    /// same. Slots without a sample left repeat one; those count in the step, never in Metrics.
    std::int64_t batch_size = 32;
    /// What the slots without a sample left in the last step contain, or whether that step is dropped;
    /// LastBatch::uneven is not allowed: all ranks take the same number of steps.
    LastBatch last_batch = LastBatch::repeat;
    bool shuffle = true;  ///< a new order in every epoch, from ModelOptions::seed
    std::vector<std::shared_ptr<Callback>> callbacks = {};  ///< called in this order
};

/// How Model::evaluate() and Model::predict() proceed.
struct EvaluateOptions {
    std::int64_t batch_size = 256;  ///< over all ranks together
};

/// The network's output for all samples, in sample order.
struct Predictions {
    Shape shape = {};                ///< [samples, ...]
    std::vector<float> values = {};  ///< in C order
};

/// Who trains together, and how the model is computed.
struct ModelOptions {
    /// The ranks that train together; the default is this process alone. ParallelEnv::communicator() has one
    /// rank if the program was started alone and all ranks under a launcher. A model without a communicator
    /// in a job of several ranks prints a warning on stderr when it is trained: each rank then trains its own
    /// model.
    Communicator communicator = {};
    bool trains_alone = false;  ///< training each rank's own model is intended: no warning
    /// Number of parts into which each step's batch is divided; their gradients and metrics are summed in a
    /// fixed order, so that 1, 2, ... virtual_ranks ranks give bitwise identical results. 0: one part per
    /// rank.
    int virtual_ranks = 0;
    /// 0: gradients are averaged in every step. Otherwise the number of steps that each rank takes by itself
    /// before parameters are averaged, see with_local_sgd(). After every epoch parameters and optimizer state
    /// are averaged, so that all ranks have the same model between epochs. Not with virtual_ranks, float16
    /// products or FTRL.
    std::int64_t local_sgd = 0;
    /// The first ranks of `communicator` are parameter servers and the others train: see Model::serve().
    /// Each step's batch is divided among the trainers. Not with virtual_ranks, local_sgd, nccl or float16
    /// products.
    std::optional<ParameterServers> servers = {};
    std::uint64_t seed = 1;  ///< of initial parameters and of the order of samples
    int threads = 0;         ///< as ExecutorOptions::threads
    /// See ExecutorOptions::device and ExecutorOptions::nccl.
    std::optional<Device> device = {};
    bool nccl = false;  ///< see ExecutorOptions::nccl
    /// See ExecutorOptions::products; applies to training, evaluate() and predict(). With float16 the loss is
    /// scaled, see with_loss_scaling().
    ComputeType products = ComputeType::float32;
    LossScaling loss_scaling = {};  ///< for float16 products
    /// See ExecutorOptions::memory_optimize; applies to training, evaluate() and predict(): bitwise identical
    /// results with less memory.
    bool memory_optimize = false;
};

/// A network that can be trained, evaluated and used for prediction. The constructor, prepare(), fit(),
/// evaluate(), predict(), save() and load() are collective over the communicator's ranks, which call them in
/// the same way; errors in arguments are thrown on all ranks. Use from the thread that may call MPI.
///
///     const dtrain::ParallelEnv env(argc, argv);
///     dtrain::Model model([](Program& p, const Var& x) { return layers::fc(p, x, 10); },
///                         {"x", {64}}, {"label", {}, DataType::int64}, {.communicator =
///                         env.communicator()});
///     model.prepare(Adam{}, CrossEntropyLoss{}, {Accuracy{}});
///     model.fit(train, {.eval = test, .epochs = 20, .batch_size = 64});
///
/// With ModelOptions::servers the same program runs on servers and trainers. All ranks construct and prepare
/// the model alike; then servers call serve(), and all other functions are for trainers, collective over
/// them. The servers end when every trainer's Model is destroyed.
class Model {
  public:
    /// @throws UsageError if there is no input, there are fewer virtual ranks than ranks, local_sgd is below
    /// 0 or combined with an option that it excludes, this CPU lacks what `products` requires, or there is no
    /// such GPU; ProgramError if a spec or the network is invalid
    Model(Network network, std::vector<SampleSpec> inputs, std::vector<SampleSpec> labels,
          ModelOptions options = {});
    /// A network with one input and one label. @throws as the other constructor
    Model(SimpleNetwork network, SampleSpec input, SampleSpec label, ModelOptions options = {});
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    /// Configures training. Sets parameters to their initial values and the epoch count to zero, even if the
    /// model was prepared before. Learning-rate schedules, clipping and decay are in `adjust`; schedules
    /// count steps in the State and so continue when a checkpoint is loaded. RateFunction and ReduceOnPlateau
    /// set the rate of a model without a schedule.
    /// @throws ProgramError if loss, metrics or optimizer do not match network and labels
    void prepare(const Optimizer& optimizer, const Loss& loss, const std::vector<Metric>& metrics = {},
                 const OptimizerOptions& adjust = {});

    /// On a parameter server: serves until all trainers have ended, and returns true. On other ranks, and
    /// without ModelOptions::servers, returns false at once:
    ///
    ///     if (model.serve()) return 0;
    ///
    /// Servers do not need samples, so it may come before they are read.
    /// @throws NotPreparedError; UsageError on all ranks if a server cannot start: too little memory, no such
    /// GPU; Error if a trainer has ended without its Model being destroyed
    bool serve();

    /// Trains for some epochs, or until a callback stops it. @return a record for each epoch of this call
    /// @throws NotPreparedError; SampleError if the samples do not match; UsageError if an option is out of
    /// range, a sample cannot be read or the ranks have different numbers of samples; Error if the loss is no
    /// longer finite, or the ranks' parameters differ; exceptions of callbacks
    std::vector<EpochRecord> fit(const Samples& train, const FitOptions& options = {});

    /// Evaluates without changing the model. @throws as fit()
    Metrics evaluate(const Samples& samples, const EvaluateOptions& options = {});

    /// Returns predictions on all ranks. Labels are not needed. @throws as fit()
    Predictions predict(const Samples& samples, const EvaluateOptions& options = {});

    /// Writes parameters, optimizer state and the number of completed epochs as a checkpoint, on the first
    /// rank. Parameter servers write a directory that all servers and the first trainer must see (with
    /// ServerMode::geo all trainers).
    /// @param format none: a file, or with ModelOptions::servers a directory
    /// @throws NotPreparedError; UsageError if servers are to write a file; Error on all ranks if it cannot
    /// be written
    void save(const std::filesystem::path& path, std::optional<CheckpointFormat> format = {}) const;

    /// Resumes where save() or Checkpoints stopped, bit for bit if batch_size, the number of ranks (or
    /// virtual ranks), ModelOptions::threads and the kind of processor are the same; the seed becomes the
    /// checkpoint's. Only the first rank reads it.
    /// @throws NotPreparedError; UsageError on all ranks if it cannot be read, or network, loss or optimizer
    /// differ: the first difference is named. The model is then unchanged. With ModelOptions::servers it is a
    /// directory that servers have written, and is loaded before the first fit(), evaluate(), predict() or
    /// save(); the numbers of servers and trainers may differ from those of the save.
    void load(const std::filesystem::path& path);

    /// load() of the newest readable checkpoint in the folder; the first rank's folder is used.
    /// @param warn called on the first rank for each damaged checkpoint
    /// @return its path; none if there is no checkpoint, and nothing has changed
    std::optional<std::filesystem::path> load_newest(
        const std::filesystem::path& folder, const std::function<void(const std::string&)>& warn = {});

    /// The checkpoint that save() would write; with ModelOptions::servers only what the trainers have of it.
    /// @throws NotPreparedError
    Checkpoint checkpoint() const;

    /// The same without the tensors, which are in state(). @throws NotPreparedError
    StateCheckpoint position() const;

    /// Rate of the next step: from prepare(), from set_learning_rate() or from a loaded checkpoint. None: the
    /// program computes it, by OptimizerOptions::schedule. @throws NotPreparedError
    std::optional<double> learning_rate() const;

    /// Sets the rate from the next step on, also between the steps of a fit(); all ranks set the same value.
    /// Checkpoints then include it, and load() restores it. The first call recompiles the model; from then on
    /// it computes with the rate rounded to float32, as schedules do: results may differ in bits from those
    /// of a rate that was given to prepare().
    /// @throws NotPreparedError; UsageError if it is not a finite number >= 0, or OptimizerOptions::schedule
    /// or ModelOptions::servers is set
    void set_learning_rate(double rate);

    /// Stores numbers in checkpoints from now on, for callbacks that resume their own state; all ranks store
    /// the same. prepare() discards them, load() restores those of the checkpoint.
    /// @param name a previous value of this name is replaced
    /// @throws NotPreparedError; UsageError if the name is empty or has a '/', or `numbers` is empty
    void keep(const std::string& name, std::vector<double> numbers);

    /// The numbers given to keep(), or those of a loaded checkpoint. @throws NotPreparedError
    std::optional<std::vector<double>> kept(const std::string& name) const;

    /// Number of completed epochs, over all calls of fit() and those of a loaded checkpoint.
    std::int64_t epochs_done() const;
    /// Number of completed steps, over all calls of fit() and those of a loaded checkpoint.
    std::int64_t steps_done() const;
    /// The ranks that train together; on a parameter server the servers.
    const Communicator& communicator() const;

    /// Parameters and optimizer state; with ModelOptions::servers the dense parameters, as of the last step
    /// (with ServerMode::geo also their optimizer state). @throws NotPreparedError
    const State& state() const;

    /// The network alone for one sample, without the loss that prepare() adds.
    const Program& network() const;

  private:
    friend struct detail::ModelAccess;
    struct Content;

    void note_times(EpochRecord& record, double seconds);
    std::vector<EpochRecord> fit_checked(const Samples& train, const FitOptions& options,
                                         const std::vector<std::string>& names);

    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
