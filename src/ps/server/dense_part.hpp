// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>
#include <dtrain/variable_block.hpp>

#include "program/host_values.hpp"

namespace dtrain::ps {

/// The blocks of dense parameters on one server, with what updates them. Trainers see the blocks one after
/// the other, as one row of floats.
///
/// On a GPU an update copies the gradients of all sources there, and returns when they have been read;
/// values are copied back when somebody reads them, at most once between two updates. What an update did
/// wrong is thrown by what waits for it: bring(), number(), the State.
class DensePart {
  public:
    /// @param program of this server, as DistributeTranspiler::get_pserver_program() makes it
    /// @param blocks of this server, in the order of its placements
    /// @param sources whose gradients one update adds
    /// @param device the CPU, or a GPU with its number
    /// @throws ProgramError when a block is not float32; as Executor for a GPU
    DensePart(const Program& program, std::vector<VariableBlock> blocks, int sources, std::uint64_t seed,
              int threads, const Device& device = Device::cpu());

    /// Floats of all blocks.
    std::size_t size() const { return size_; }

    /// @throws UsageError when there are not so many elements
    void set_gradient(int source, std::size_t first, std::span<const float> values);
    /// Of all elements to zero.
    void clear_gradient(int source);

    /// One step of the program: the update, and the counters and rates that it goes by.
    /// @param steps of a trainer whose gradients were added up for it, 1 at least. Schedules count them all:
    /// the rate is that of the first of them. Adam's t counts updates, as its moments decay once in each.
    void update(std::uint32_t steps = 1);

    /// What read() gives has all updates in it. @throws Error of an update on a GPU
    void bring();

    /// Calls bring(). @throws UsageError when there are not so many elements
    void read(std::size_t first, std::span<float> values);

    /// What the program has computed: a learning rate. Waits for a GPU.
    double number(const std::string& variable) const;

    /// Blocks and what their optimizer keeps, to be read.
    const State& state() const { return executor_.state(); }
    /// The same, for who writes to it before anything else is called.
    const State& state_to_set();
    std::size_t state_bytes() const { return state_bytes_; }

    /// "CPU", "GPU 0, NVIDIA H200"
    std::string device() const { return executor_.device(); }

  private:
    struct Place {
        std::size_t first;                        ///< of the block's first element
        std::span<const float> values;            ///< as brought last
        std::vector<std::span<float>> gradients;  ///< by source
    };

    template <class Action>
    void for_range(std::size_t first, std::size_t count, const Action& action) const;

    Executor executor_;
    std::optional<Executor> counting_;  ///< one step of the schedules' counters; none: there is no schedule
    program::HostValues values_;
    bool are_brought_ = false;
    std::vector<Place> places_;
    std::size_t size_ = 0;
    std::size_t state_bytes_ = 0;
};

}  // namespace dtrain::ps
