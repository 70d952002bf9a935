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

/// Updates parameters from their gradients with the operators of dtrain::append_optimizer():
///
///     nn::Optimizer adam(Adam{.learning_rate = 0.001}, layer.parameters());
///     loss.backward();
///     adam.step();
///     adam.zero_grad();
class Optimizer {
  public:
    /// @throws UsageError if there is no parameter; ProgramError if two parameters have the same name or a
    /// setting is out of range
    Optimizer(const dtrain::Optimizer& settings, std::vector<Parameter> parameters,
              const OptimizerOptions& options = {});
    Optimizer(Optimizer&&) noexcept;
    Optimizer& operator=(Optimizer&&) noexcept;
    ~Optimizer();

    /// Updates the parameters that have a gradient; the others, and their optimizer state, are unchanged.
    /// Adam's t counts all steps.
    /// @throws NoGradientError if no parameter has a gradient
    void step();

    /// Clears the gradients. Without it backward() adds to the gradients of the previous step.
    void zero_grad();

    /// zero_grad()
    [[deprecated("it is called zero_grad, as in PyTorch")]] void clear_grad() { zero_grad(); }

    /// The parameters that it updates, in the order given.
    const std::vector<Parameter>& parameters() const;

    /// The optimizer state; variables are named as by append_optimizer(). On a GPU, State::tensors() and
    /// find() download it.
    const State& state() const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

/// Options of DataParallel.
struct DataParallelOptions {
    /// See GradientAveragingOptions::bucket_bytes.
    std::int64_t bucket_bytes = 0;
    /// While the DataParallel exists, every backward() in the process takes part in the averages, with zeros
    /// if its loss depends on no parameter of the layer, or on no parameter at all: for losses that leave out
    /// the layer on some ranks. All ranks must then call backward() equally often, for any network.
    bool every_backward = false;
    /// For tensors on GPUs (nn_device.hpp): average through NCCL, in GPU memory and while the backward pass
    /// is running, in a communicator that is derived from the given one; each rank needs a GPU of its own.
    /// False: through MPI and host memory. Has no effect if all ranks compute on CPUs.
    bool nccl = false;
};

/// A layer whose gradients are averaged over ranks:
///
///     const ParallelEnv env(argc, argv);
///     nn::DataParallel parallel(network, env.communicator());
///
/// While it exists, every backward() that reaches a parameter of the layer ends with averages over the ranks,
/// through MPI, in buckets that start while the backward pass is running or, for gradients on a GPU, once it
/// has been computed; or through NCCL (DataParallelOptions::nccl). All ranks must do such passes equally
/// often; if a rank's loss may leave out the layer, use DataParallelOptions::every_backward. A parameter that
/// no rank used then has no gradient; one that some ranks used has the sum of their gradients divided by the
/// number of ranks, on all ranks. It makes no difference whether this object or the layer itself is called.
/// With one rank it does nothing.
class DataParallel final : public Layer {
  public:
    /// Sets the layer's parameters to those of rank 0. The layer must not move and must outlive this object.
    /// Collective.
    /// @param communicator over MPI, also with DataParallelOptions::nccl
    /// @throws UsageError on all ranks if there is no parameter, one is not float32 or is already averaged,
    /// the ranks have different parameters, or with DataParallelOptions::nccl if NCCL is not available or
    /// only some ranks compute on GPUs; GpuCommunicatorError if the communicator is over NCCL; MpiError,
    /// NcclError
    DataParallel(Layer& layer, const Communicator& communicator, const DataParallelOptions& options = {});
    DataParallel(DataParallel&&) noexcept;
    DataParallel& operator=(DataParallel&&) = delete;
    ~DataParallel() override;

    /// The layer's forward().
    Tensor forward(const Tensor& x) override { return layer_(x); }

    /// While it exists, gradients stay local to this rank and accumulate; the first backward() after it
    /// averages the accumulated gradients.
    class [[nodiscard]] NoSync {
      public:
        /// @param parallel must outlive it
        explicit NoSync(DataParallel& parallel);
        NoSync(const NoSync&) = delete;
        NoSync& operator=(const NoSync&) = delete;
        ~NoSync();

      private:
        int& pauses_;
    };
    /// Gradients stay local until the result is destroyed.
    NoSync no_sync() { return NoSync(*this); }

    /// Sets all parameters to their averages over the ranks: called every k steps within no_sync(), this is
    /// local SGD (Stich, ICLR 2019). Collective. @throws MpiError
    void average_parameters();

    /// True on all ranks if the parameters of all of them are bitwise identical. Collective. @throws MpiError
    bool parameters_are_identical() const;

  private:
    class Averaging;

    Layer& layer_;
    std::unique_ptr<Averaging> averaging_;
};

/// Writes the layer's parameters and the optimizer state as a checkpoint file. Call it on one rank.
/// @throws Error naming the path if it cannot be written; ProgramError if two parameters have the same name
void save(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer = nullptr);

/// Sets parameters and optimizer state to those of a checkpoint, on the calling rank: call it on all ranks,
/// or before creating DataParallel. Nothing is changed if anything does not match.
/// @throws UsageError naming the file, and the first tensor that is missing or has another type or shape
void load(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer = nullptr);

}  // namespace dtrain::nn
