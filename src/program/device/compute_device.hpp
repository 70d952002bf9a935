// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/chain_link.hpp"
#include "kernels/kernel.hpp"
#include "program/exchange/bucket_sums.hpp"
#include "program/exchange/gradient_sums.hpp"
#include "program/exchange/row_exchange.hpp"
#include "program/exchange/server_link.hpp"
#include "program/state/state_averages.hpp"

namespace dtrain::program {

/// Kernels of an operator that communicates with servers.
struct ServerKernels {
    /// The device's part, which runs with its other work; null if there is none.
    std::unique_ptr<kernels::Kernel> copy;
    /// The host's part; null if that of a later operator does it.
    std::unique_ptr<kernels::Kernel> talk;
    /// Whether `talk` needs the device to have finished all work.
    bool waits = false;
};

/// What a compiled program runs on: where its tensors are, how they are computed, and how the caller's data
/// are transferred. "Device memory" is the memory that its kernels use, "host memory" that of this process;
/// on a CPU both are the same.
class ComputeDevice {
  public:
    using Memory = std::shared_ptr<std::byte>;

    virtual ~ComputeDevice() = default;

    /// "CPU", "GPU 0, NVIDIA H200"
    virtual std::string description() const = 0;

    /// Zero-initialised device memory.
    virtual Memory allocate(std::size_t bytes) = 0;
    /// Zero-initialised device memory that ranks reduce. Collective.
    virtual Memory allocate_exchanged(std::size_t bytes) = 0;

    /// The persistable variables in device memory.
    virtual std::vector<StateTensor> state_tensors() = 0;
    /// Sets the data variables in device memory: begin_step() uploads them.
    virtual void set_data(std::vector<StateTensor> data) = 0;

    virtual std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                         const kernels::KernelArguments& arguments) = 0;
    /// One kernel for all operators of a chain. @param inner memory of tensors that only the chain reads
    virtual std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<kernels::ChainLink>& links,
                                                               const std::set<const void*>& inner) = 0;
    /// For an operator that communicates with servers; call it after set_data(), in the order of the program.
    virtual ServerKernels make_server_kernels(const Operator& op, const kernels::KernelArguments& arguments,
                                              ServerLink& link) = 0;
    /// Whether make_chain_kernel() also accepts the operators of joined_operators.hpp, and updates an output
    /// "step" that they increment.
    virtual bool joins() const = 0;
    /// A function that sets a device tensor of one integer to the number of any of these batches.
    using SetNumber = std::function<void(std::int64_t)>;
    virtual SetNumber make_set_number(const TensorView& device, const VirtualRanks& batches) = 0;
    virtual std::unique_ptr<GradientSums> make_gradient_sums(std::span<float> gradients,
                                                             std::size_t slots) = 0;
    virtual BucketSums make_bucket_sums(std::vector<std::span<float>> buckets) = 0;
    /// See RowExchange. @param communicator over MPI
    virtual RowExchange make_row_exchange(Communicator communicator, TreeNode batches, int all,
                                          std::vector<ExchangedRows> gradients) = 0;

    /// A function that sets variables of the State, all float32, to their averages over the ranks: at the end
    /// of a step, or in a separate step. Collective.
    virtual std::function<void()> make_average(const VariableNames& variables) = 0;

    /// A kernel that runs everything that `give` enqueues, captured as a graph; null if that brings no gain.
    virtual std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) = 0;
    virtual bool captures() const = 0;
    /// The same including reductions of buckets (BucketSums::start_captured()), if captures_sums().
    virtual std::unique_ptr<kernels::Kernel> captured_with_sums(const std::function<void()>& give) = 0;
    virtual bool captures_sums() const = 0;

    /// After begin_step() the caller's data are available to the device; after end_step() the caller may
    /// write them again.
    struct StepUses {
        bool data = true;
        bool writes_state = true;
    };
    virtual void begin_step(const StepUses& uses) = 0;
    virtual void end_step() = 0;

    /// Waits for the values that ranks are about to reduce, where a wait is needed anyway: so that the
    /// measured time of the exchange includes no computing.
    virtual void before_exchange() = 0;
    /// Waits until everything has been computed.
    virtual void finish() = 0;
    /// The same, before the program's memory is freed.
    virtual void leave() noexcept = 0;

    /// Host memory for a variable and its device tensor.
    virtual TensorView fed(const Variable& variable, const TensorView& device) = 0;
    virtual TensorView fetched(const Variable& variable, const TensorView& device) = 0;
};

/// The device of the options, for the ranks that run a program. Collective if they reduce gradients.
/// @throws UsageError on all ranks if some rank has no such GPU
std::unique_ptr<ComputeDevice> make_compute_device(const Program& program, const ExecutorOptions& options,
                                                   const State& state, const Communicator& communicator);

/// Checks whether executors of this process with this device option can run a program, before one is created:
/// the operators need kernels there. Pure except for opening the GPU.
/// @throws UsageError if there is no such GPU, ProgramError for an operator that GPUs do not support
void check_computes(const Program& program, const std::optional<Device>& device,
                    const Communicator& communicator);

/// Places a State on the device of this process' executors with this device option: executors without the
/// rank's communicator then find it there, too. @throws UsageError if there is no such GPU
void place(const State& state, const std::optional<Device>& device, const Communicator& communicator);

}  // namespace dtrain::program
