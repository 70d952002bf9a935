// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/nn_layer.hpp>
#include <dtrain/optimizer.hpp>

namespace dtrain::nn {

/// Updates parameters from their gradients, by the operators of dtrain::append_optimizer():
///
///     nn::Optimizer adam(Adam{.learning_rate = 0.001}, layer.parameters());
///     loss.backward();
///     adam.step();
///     adam.clear_grad();
class Optimizer {
  public:
    /// @throws UsageError when there is no parameter; ProgramError when two have one name or a setting is out
    /// of range
    Optimizer(const dtrain::Optimizer& settings, std::vector<Parameter> parameters,
              const OptimizerOptions& options = {});
    Optimizer(Optimizer&&) noexcept;
    Optimizer& operator=(Optimizer&&) noexcept;
    ~Optimizer();

    /// Updates the parameters that have a gradient; the others, and what the optimizer keeps for them, stay
    /// as they are. Adam's t counts the steps of all.
    /// @throws NoGradientError when none has a gradient
    void step();

    /// backward() adds to gradients: without this, to those of the step before.
    void clear_grad();

    const std::vector<Parameter>& parameters() const;

    /// What the optimizer keeps between two steps; variables as append_optimizer() names them. Where it is on
    /// a GPU, State::tensors() and find() bring it.
    const State& state() const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

struct DataParallelOptions {
    /// As GradientAveragingOptions::bucket_bytes.
    std::int64_t bucket_bytes = 0;
    /// While the DataParallel lives every backward() in the process takes part in the averages, with zeros
    /// when its loss depends on no parameter of the layer, or on none at all: for losses that leave the layer
    /// out on some ranks. All ranks call backward() equally often then, of whatever network.
    bool every_backward = false;
};

/// A layer whose gradients are averaged over ranks:
///
///     const ParallelEnv env(argc, argv);
///     nn::DataParallel parallel(network, env.communicator());
///
/// While it lives every backward() that reaches a parameter of the layer ends with averages over the ranks,
/// by MPI, in buckets that start while it goes on, or, of gradients on a GPU, when it has been computed. All
/// ranks do such passes equally often; where a rank's loss may leave the layer out,
/// DataParallelOptions::every_backward is for it. A parameter that no rank used has no gradient then; one
/// that some used has the sum of theirs over the number of ranks, on all of them. It makes no difference
/// whether this or the layer itself is called. With one rank nothing happens.
class DataParallel final : public Layer {
  public:
    /// The layer, which stays where it is and outlives this, has rank 0's parameters then. Collective.
    /// @throws UsageError on all ranks when there is no parameter, one is not float32 or is averaged already,
    /// or the ranks have other parameters; MpiError
    DataParallel(Layer& layer, const Communicator& communicator, const DataParallelOptions& options = {});
    DataParallel(DataParallel&&) noexcept;
    DataParallel& operator=(DataParallel&&) = delete;
    ~DataParallel() override;

    Tensor forward(const Tensor& x) override { return layer_(x); }

    /// While it lives gradients stay this rank's own and add up; the first backward() without it averages
    /// what came together.
    class [[nodiscard]] NoSync {
      public:
        explicit NoSync(DataParallel& parallel);
        NoSync(const NoSync&) = delete;
        NoSync& operator=(const NoSync&) = delete;
        ~NoSync();

      private:
        int& pauses_;
    };
    NoSync no_sync() { return NoSync(*this); }

    /// Sets all parameters to their averages over the ranks: after every k steps within no_sync() this is
    /// local SGD (Stich, ICLR 2019). Collective. @throws MpiError
    void average_parameters();

    /// True on all ranks when all have the same bits in their parameters. Collective. @throws MpiError
    bool parameters_are_identical() const;

  private:
    class Averaging;

    Layer& layer_;
    std::unique_ptr<Averaging> averaging_;
};

/// Writes the layer's parameters, and what the optimizer keeps, as a checkpoint file. Call it on one rank.
/// @throws Error naming the path when it cannot be written; ProgramError when two parameters have one name
void save(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer = nullptr);

/// Sets parameters, and what the optimizer keeps, to those of a checkpoint, on the rank that calls it: all
/// ranks do, or it comes before DataParallel. Nothing is changed when something does not fit.
/// @throws UsageError naming the file, and the first tensor that is missing or has another type or shape
void load(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer = nullptr);

}  // namespace dtrain::nn
