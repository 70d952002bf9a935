// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>
#include <dtrain/variable_block.hpp>

namespace dtrain::ps {

/// The blocks of dense parameters on one server, with what updates them. Trainers see the blocks one after
/// the other, as one row of floats.
class DensePart {
  public:
    /// @param program of this server, as DistributeTranspiler::get_pserver_program() makes it
    /// @param blocks of this server, in the order of its placements
    /// @param sources whose gradients one update adds
    /// @throws ProgramError when a block is not float32
    DensePart(const Program& program, std::vector<VariableBlock> blocks, int sources, std::uint64_t seed,
              int threads);

    /// Floats of all blocks.
    std::size_t size() const { return size_; }

    /// @throws UsageError when there are not so many elements
    void set_gradient(int source, std::size_t first, std::span<const float> values);
    /// Of all elements to zero.
    void clear_gradient(int source);

    /// One step of the program: the update, and the counters and rates that it goes by.
    void update();

    /// @throws UsageError when there are not so many elements
    void read(std::size_t first, std::span<float> values) const;

    /// What the program has computed: a learning rate.
    double number(const std::string& variable) const;

    const State& state() const { return executor_.state(); }

  private:
    struct Place {
        std::size_t first;  ///< of the block's first element
        std::span<const float> values;
        std::vector<std::span<float>> gradients;  ///< by source
    };

    template <class Action>
    void for_range(std::size_t first, std::size_t count, const Action& action) const;

    Executor executor_;
    std::vector<Place> places_;
    std::size_t size_ = 0;
};

}  // namespace dtrain::ps
