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
#include "program/bucket_sums.hpp"
#include "program/gradient_sums.hpp"
#include "program/row_exchange.hpp"
#include "program/server_link.hpp"
#include "program/state_averages.hpp"

namespace dtrain::program {

/// An operator that talks to servers.
struct ServerKernels {
    /// The device's part, which it does with its other work; null: it has none.
    std::unique_ptr<kernels::Kernel> copy;
    /// This process' part; null: that of a later operator does it, too.
    std::unique_ptr<kernels::Kernel> talk;
    /// Whether that is for a device that has computed all.
    bool waits = false;
};

/// What one compiled program runs on: where its tensors are, who computes with them, and how the caller's
/// data get there and back. "There" is its memory, "here" this process'.
class ComputeDevice {
  public:
    using Memory = std::shared_ptr<std::byte>;

    virtual ~ComputeDevice() = default;

    /// "CPU", "GPU 0, NVIDIA H200"
    virtual std::string description() const = 0;

    /// Zeros there.
    virtual Memory allocate(std::size_t bytes) = 0;
    /// Zeros there that ranks add up. Collective.
    virtual Memory allocate_exchanged(std::size_t bytes) = 0;

    /// What persists, there.
    virtual std::vector<StateTensor> state_tensors() = 0;
    /// The tensors of a data variable, there: begin_step() brings them.
    virtual void set_data(std::vector<StateTensor> data) = 0;

    virtual std::unique_ptr<kernels::Kernel> make_kernel(const std::string& operator_type,
                                                         const kernels::KernelArguments& arguments) = 0;
    /// All operators of a chain at once. @param inner memory of what nobody else reads
    virtual std::unique_ptr<kernels::Kernel> make_chain_kernel(const std::vector<kernels::ChainLink>& links,
                                                               const std::set<const void*>& inner) = 0;
    /// Of an operator that talks to servers, after those of the data. In the order of the program.
    virtual ServerKernels make_server_kernels(const Operator& op, const kernels::KernelArguments& arguments,
                                              ServerLink& link) = 0;
    /// Whether make_chain_kernel() takes those of joined_operators.hpp too, and updates an output "step" that
    /// they count up.
    virtual bool joins() const = 0;
    /// What sets a tensor there, of one whole number, to a number of a batch: of any of these.
    using SetNumber = std::function<void(std::int64_t)>;
    virtual SetNumber make_set_number(const TensorView& device, const VirtualRanks& batches) = 0;
    virtual std::unique_ptr<GradientSums> make_gradient_sums(std::span<float> gradients,
                                                             std::size_t places) = 0;
    virtual BucketSums make_bucket_sums(std::vector<std::span<float>> buckets) = 0;
    /// As RowExchange. @param communicator over MPI
    virtual RowExchange make_row_exchange(Communicator communicator, TreeNode batches, int all,
                                          std::vector<ExchangedRows> gradients) = 0;

    /// What sets variables of the State, all of float32, to their averages over the ranks: at the end of a
    /// step, or in one of its own. Collective.
    virtual std::function<void()> make_average(const VariableNames& variables) = 0;

    /// All that `give` gives to it, to be computed at each run() of what is returned; nothing where that
    /// gains nothing.
    virtual std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give) = 0;
    virtual bool captures() const = 0;
    /// The same with sums of buckets in it (BucketSums::start_captured()), where captures_sums().
    virtual std::unique_ptr<kernels::Kernel> captured_with_sums(const std::function<void()>& give) = 0;
    virtual bool captures_sums() const = 0;

    /// What a step uses of the caller's is there after begin_step(), and the caller may write it again after
    /// end_step().
    struct StepUses {
        bool data = true;
        bool writes_state = true;
    };
    virtual void begin_step(const StepUses& uses) = 0;
    virtual void end_step() = 0;

    /// Waits for what ranks are about to add, where that is waited for anyhow: so that the time of an
    /// exchange has no computing in it.
    virtual void before_exchange() = 0;
    /// Waits until all has been computed.
    virtual void finish() = 0;
    /// The same before the program's memory is given back.
    virtual void leave() noexcept = 0;

    /// Memory here, for a variable and its tensor there.
    virtual TensorView fed(const Variable& variable, const TensorView& device) = 0;
    virtual TensorView fetched(const Variable& variable, const TensorView& device) = 0;
};

/// That of the options, for the ranks that run a program. Collective when they add gradients.
/// @throws UsageError on all ranks when some rank has no such GPU
std::unique_ptr<ComputeDevice> make_compute_device(const Program& program, const ExecutorOptions& options,
                                                   const State& state, const Communicator& communicator);

/// Whether executors of this process that are told this can run a program, before there is one: that is
/// where the operators' kernels are. Pure but for opening the GPU.
/// @throws UsageError when there is no such GPU, ProgramError for an operator that GPUs do not do
void check_computes(const Program& program, const std::optional<Device>& device,
                    const Communicator& communicator);

/// Puts a State where executors of this process compute that are told this: also those which are not told the
/// rank's communicator find it there. @throws UsageError when there is no such GPU
void place(const State& state, const std::optional<Device>& device, const Communicator& communicator);

}  // namespace dtrain::program
