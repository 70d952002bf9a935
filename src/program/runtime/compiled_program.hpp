// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/kernel.hpp"
#include "program/passes/element_chains.hpp"
#include "program/runtime/compute_device.hpp"
#include "program/runtime/placed_tensors.hpp"
#include "program/runtime/row_exchange.hpp"
#include "program/runtime/server_link.hpp"
#include "program/runtime/share_updates.hpp"
#include "program/runtime/tree_sum.hpp"

namespace dtrain::program {

/// A program as a list of prepared steps.
class CompiledProgram {
  public:
    /// See Executor.
    CompiledProgram(Program program, State state, Communicator communicator, const ExecutorOptions& options);

    CompiledProgram(CompiledProgram&&) noexcept = default;
    CompiledProgram& operator=(CompiledProgram&&) = delete;
    ~CompiledProgram() {
        if (device_) device_->leave();
    }

    void run();
    void accumulate();
    void update();
    void average_state();

    const Program& program() const { return program_; }
    const State& state() const { return state_; }
    const PlacedTensors& tensors() const { return tensors_; }
    std::string device() const { return device_->description(); }
    /// Host memory for a data variable, or with the value of a variable after a step.
    TensorView fed(const Variable& variable) const {
        return device_->fed(variable, tensors_.of(variable.name));
    }
    TensorView fetched(const Variable& variable) const {
        return device_->fetched(variable, tensors_.of(variable.name));
    }
    /// Whether there is only memory for a block of the variable.
    bool is_inner(std::string_view variable) const { return chains_.inner.contains(variable); }
    VirtualRanks virtual_ranks() const;
    std::vector<OperatorTime> profile() const;
    std::chrono::nanoseconds exchange_time() const { return exchange_time_; }
    /// True if no reduction over ranks is part of a captured graph.
    bool sees_exchanges() const;

  private:
    enum class Action {
        compute,
        talk,  // with servers
        start,
        wait,
        exchange,
        tree,
        shares,
        collect_rows,
        exchange_rows,
        number_batch,
        average,
        barrier
    };
    /// One batch computes gradients, these are exchanged, the update reads them.
    enum class Phase { batch, exchange, update };
    /// The part of a step to run: all, the part of a single batch, or the rest.
    enum class Part : std::uint8_t { all, batch, rest };

    struct Step {
        Action action;
        Phase phase;
        std::size_t number;  // of the kernel or bucket
        bool exchanges;      // with other ranks or servers
        bool waits;          // for the device, before the step
        OperatorTime time;
    };

    /// State of local SGD.
    struct Averages {
        std::int64_t every;  // in steps
        std::function<void()> parameters;
        std::function<void()> state;  // averages the state without parameters
        std::int64_t steps_alone = 0;
        bool states_differ = false;

        /// @return whether it is time to average
        bool count_step() {
            states_differ = true;
            return ++steps_alone == every;
        }
    };

    /// Consecutive steps that the device runs as one graph, or a single step outside a graph.
    struct Piece {
        std::unique_ptr<kernels::Kernel> graph;
        std::size_t step = 0;  // if there is no graph
    };

    void note_what_can_be_added(std::size_t second);
    void prepare(std::size_t second, bool overlap);
    void prepare_chain(const ElementChain& chain, Phase phase);
    void prepare_row_exchange(const Operator& op);
    void prepare_averages(const Operator& op);
    void prepare_talk(const Operator& op, Phase phase);
    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op) const;
    kernels::KernelArguments arguments_of(const Operator& op) const;
    void prepare_updates(std::size_t begin, std::size_t count);
    bool is_counted_by_updates(std::size_t number, std::size_t second);
    void prepare_shares(std::size_t begin);
    void add_step(Action action, Phase phase, std::size_t number, const Operator& op, bool waits = false);
    void add_kernel(Action action, Phase phase, std::unique_ptr<kernels::Kernel> kernel, const Operator& op,
                    bool waits = false);
    bool is_waited_for_at_once(std::size_t start) const;
    std::size_t run_of_updates(std::size_t begin) const;
    std::vector<kernels::KernelArguments> merged_updates(std::size_t begin, std::size_t count) const;

    static bool is_of(const Step& step, Part part);
    void run_part(Part part);
    bool is_waited_for(const Step& step) const;
    void run_timed(Step& step);
    void run_step(const Step& step);
    void run_captured(Part part);
    std::vector<Piece> captured(Part part);
    static bool is_sum(const Step& step);
    void capture(const Step& step);
    void progress();

    Program program_;
    State state_;
    Communicator communicator_;
    std::unique_ptr<ComputeDevice> device_;
    ElementChains chains_;
    PlacedTensors tensors_;
    std::vector<std::unique_ptr<kernels::Kernel>> kernels_;
    ShareUpdates shares_;
    std::map<std::size_t, std::size_t> counted_by_;  // by the first update: the increment that it includes
    std::vector<Step> steps_;
    std::optional<TreeSum> tree_;
    std::optional<RowExchange> rows_;
    VirtualRanks batches_;  // those of this rank, among those of all ranks
    bool are_virtual_ = false;
    bool rows_are_shared_ = false;         // sparse rows with one copy: each rank of a node updates its share
    ComputeDevice::SetNumber set_number_;  // sets the batch number, if an operator reads it
    std::optional<Averages> averages_;
    std::unique_ptr<GradientSums> sums_;  // over the batches since the last update
    int accumulated_ = 0;                 // number of such batches
    bool updates_follow_ = true;
    std::string unaddable_;  // why some gradient cannot be summed over batches; "" if all can
    bool writes_state_ = false;
    bool profiles_;
    std::chrono::nanoseconds exchange_time_{0};
    ComputeType products_;
    std::shared_ptr<ServerLink> servers_;
    std::map<Part, std::vector<Piece>> pieces_;
    BucketSums buckets_;  // destroyed first, because it uses memory of other members
};

}  // namespace dtrain::program
