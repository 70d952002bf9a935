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

#include "program/state/host_values.hpp"

namespace dtrain::ps {

/// The blocks of dense parameters on one server and the program that updates them. Trainers see the blocks
/// concatenated, as one array of floats.
///
/// On a GPU, an update copies the gradients of all sources to the device and returns once they have been
/// read. Values are copied back on demand, at most once between two updates. Errors of an update are thrown
/// by the functions that wait for it: bring(), number(), access to the State.
class DensePart {
  public:
    /// @param program of this server, from DistributeTranspiler::get_pserver_program()
    /// @param blocks of this server, in the order of its placements
    /// @param sources number of gradients that one update adds
    /// @param device the CPU, or a GPU with its index
    /// @throws ProgramError if a block is not float32; as Executor for a GPU
    DensePart(const Program& program, std::vector<VariableBlock> blocks, int sources, std::uint64_t seed,
              int threads, const Device& device = Device::cpu());

    /// Number of floats in all blocks.
    std::size_t size() const { return size_; }

    /// @throws UsageError if the range exceeds the elements
    void set_gradient(int source, std::size_t first, std::span<const float> values);
    /// Sets the whole gradient to zero.
    void clear_gradient(int source);

    /// Runs one step of the program: the update with its counters and learning rates.
    /// @param steps number of trainer steps whose gradients were summed, at least 1. Schedules count all of
    /// them; the learning rate is that of the first. Adam's t counts updates, since its moments decay once
    /// per update.
    void update(std::uint32_t steps = 1);

    /// Copies the values to the host, so that read() returns them with all updates. @throws Error of an
    /// update on a GPU
    void bring();

    /// Calls bring(). @throws UsageError if the range exceeds the elements
    void read(std::size_t first, std::span<float> values);

    /// A value that the program has computed, such as a learning rate. Waits for the GPU.
    double number(const std::string& variable) const;

    /// Blocks and optimizer state, for reading.
    const State& state() const { return executor_.state(); }
    /// The same for writing, before any other call.
    const State& mutable_state();
    std::size_t state_bytes() const { return state_bytes_; }

    /// "CPU", "GPU 0, NVIDIA H200"
    std::string device() const { return executor_.device(); }

  private:
    struct Slice {
        std::size_t first;                        ///< offset of the block's first element
        std::span<const float> values;            ///< as of the last bring()
        std::vector<std::span<float>> gradients;  ///< by source
    };

    template <class Action>
    void for_range(std::size_t first, std::size_t count, const Action& action) const;

    Executor executor_;
    std::optional<Executor> counting_;  ///< one step of the schedules' counters; nothing: no schedule
    program::HostValues values_;
    bool are_brought_ = false;
    std::vector<Slice> slices_;
    std::size_t size_ = 0;
    std::size_t state_bytes_ = 0;
};

}  // namespace dtrain::ps
