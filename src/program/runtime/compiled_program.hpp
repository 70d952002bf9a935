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
#include "program/device/compute_device.hpp"
#include "program/exchange/row_exchange.hpp"
#include "program/exchange/server_link.hpp"
#include "program/exchange/tree_sum.hpp"
#include "program/passes/element_chains.hpp"
#include "program/runtime/placed_tensors.hpp"
#include "program/runtime/shard_updates.hpp"

namespace dtrain::program {

/// A program as a list of prepared steps.
class CompiledProgram {
  public:
    /// See Executor.
    CompiledProgram(Program program, State state, Communicator communicator, const ExecutorOptions& options);

    CompiledProgram(CompiledProgram&&) = delete;  // kernels of its steps know it
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
    /// One batch computes gradients, these are exchanged, the update reads them.
    enum class Phase { batch, exchange, update };
    /// The part of a step to run: all, the part of a single batch, or the rest.
    enum class Part : std::uint8_t { all, batch, rest };

    /// The part of a bucket's reduction that is a step.
    struct BucketStep {
        std::size_t bucket;
        bool starts;
        bool waits;
    };

    /// Who takes part in a step, and what it has to wait for.
    struct StepTraits {
        bool device_only = false;             // so that it may be part of a captured graph
        bool exchanges = false;               // with other ranks or servers
        bool sends_computed = false;          // other ranks receive at once what the device has computed
        bool waits_for_device = false;        // before the step
        std::optional<BucketStep> reduction;  // which may be part of a captured graph, too
    };

    struct Step {
        std::unique_ptr<kernels::Kernel> kernel;
        Phase phase;
        StepTraits traits;
        OperatorTime time;
    };

    /// State of local SGD.
    struct Averages {
        std::int64_t every;  // in steps
        std::function<void()> parameters;
        std::function<void()> state;  // averages the state without parameters
        std::size_t step;             // the number of the step that averages
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
    /// Adds the steps of the operators that are more than a kernel of the device. @return false for all
    /// others
    bool prepare_exchange(const Operator& op, std::size_t number, bool overlap);
    void prepare_bucket(const Operator& op, bool starts, bool waits);
    void prepare_tree(const Operator& op);
    void prepare_batch_number(const Operator& op);
    void prepare_chain(const ElementChain& chain, Phase phase);
    void prepare_row_exchange(const Operator& op);
    void prepare_averages(const Operator& op);
    void prepare_talk(const Operator& op, Phase phase);
    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op) const;
    kernels::KernelArguments arguments_of(const Operator& op) const;
    void prepare_updates(std::size_t begin, std::size_t count);
    bool is_counted_by_updates(std::size_t number, std::size_t second);
    void prepare_shards(const Operator& op, std::size_t begin);
    void add_step(std::unique_ptr<kernels::Kernel> kernel, Phase phase, const StepTraits& traits,
                  const Operator& op);
    void add_kernel(std::unique_ptr<kernels::Kernel> kernel, Phase phase, const Operator& op);
    bool is_waited_for_at_once(std::size_t start) const;
    std::size_t run_of_updates(std::size_t begin) const;
    std::vector<kernels::KernelArguments> merged_updates(std::size_t begin, std::size_t count) const;

    static bool is_of(const Step& step, Part part);
    void run_part(Part part);
    void run_timed(std::size_t number);
    void run_step(const Step& step);
    void run_captured(Part part);
    std::vector<Piece> captured(Part part);
    void capture(const Step& step);
    void progress();

    Program program_;
    State state_;
    Communicator communicator_;
    std::unique_ptr<ComputeDevice> device_;
    ElementChains chains_;
    PlacedTensors tensors_;
    ShardUpdates shards_;
    std::map<std::size_t, std::size_t> counted_by_;  // by the first update: the increment that it includes
    std::vector<Step> steps_;
    std::optional<TreeSum> tree_;
    std::optional<RowExchange> rows_;
    VirtualRanks batches_;  // those of this rank, among those of all ranks
    bool are_virtual_ = false;
    bool rows_are_shared_ = false;  // sparse rows with one copy: each rank of a node updates its shard
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
