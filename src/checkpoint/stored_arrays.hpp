// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "io/shard_plan.hpp"

namespace dtrain::checkpoint {

/// An array of a checkpoint in this process' memory.
struct StoredArray {
    std::string name;  ///< as its owner calls it
    io::TensorInfo info;
    std::byte* data = nullptr;

    std::span<std::byte> bytes() const { return {data, static_cast<std::size_t>(info.bytes())}; }
};

/// What checkpoints have the values of: the tensors of a State, or buffers of a library. A value whose copies
/// mean the same memory.
class StoredArrays {
  public:
    StoredArrays(State state);  // NOLINT(google-explicit-constructor): a State is such
    /// @param buffers that checked_buffers() has found good
    explicit StoredArrays(const std::vector<CheckpointBuffer>& buffers);

    /// With what executors on a GPU have computed; not to be written.
    const std::vector<StoredArray>& to_read() const;

    /// The next step sees what is written.
    const std::vector<StoredArray>& to_write() const;

    /// Checkpoints may have more tensors: the State of a program for tests has not all of those of training.
    bool may_be_a_part() const { return state_.has_value(); }

    /// Sets all arrays to those of the first rank. Collective.
    void broadcast_from_first(const Communicator& communicator) const;

    /// A copy of all values, for set_to().
    std::vector<std::byte> values() const;
    void set_to(std::span<const std::byte> values) const;

  private:
    std::optional<State> state_;
    std::vector<StoredArray> arrays_;
};

/// @throws UsageError on all ranks when there is no buffer, one has no name or another one's, has not as many
/// elements as its shape says, or ranks have different buffers: the first difference is named. Collective.
std::vector<CheckpointBuffer> checked_buffers(const Communicator& communicator,
                                              std::vector<CheckpointBuffer> buffers);

}  // namespace dtrain::checkpoint
