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

#include "storage/shard_plan.hpp"

namespace dtrain::checkpoint {

/// An array of a checkpoint in this process' memory.
struct StoredArray {
    std::string name;  ///< the owner's name for it
    storage::TensorInfo info;
    std::byte* data = nullptr;

    std::span<std::byte> bytes() const { return {data, static_cast<std::size_t>(info.bytes())}; }
};

/// The arrays whose values checkpoints contain: the tensors of a State, or buffers of a library. Copies refer
/// to the same memory.
class StoredArrays {
  public:
    StoredArrays(State state);  // NOLINT(google-explicit-constructor): a State is such
    /// @param buffers validated by checked_buffers()
    explicit StoredArrays(const std::vector<CheckpointBuffer>& buffers);

    /// Includes what executors have computed on a GPU; read-only.
    const std::vector<StoredArray>& to_read() const;

    /// The next step uses what is written.
    const std::vector<StoredArray>& to_write() const;

    /// Whether checkpoints may have more tensors: the State of a test program has only some of those of
    /// training.
    bool may_be_a_part() const { return state_.has_value(); }

    /// Sets all arrays to the first rank's values. Collective.
    void broadcast_from_first(const Communicator& communicator) const;

    /// A copy of all values, as input for set_to().
    std::vector<std::byte> values() const;
    void set_to(std::span<const std::byte> values) const;

  private:
    std::optional<State> state_;
    std::vector<StoredArray> arrays_;
};

/// @throws UsageError on all ranks if there is no buffer, one has no name, a duplicate name or a size
/// different from its shape, or ranks have different buffers; names the first difference. Collective.
std::vector<CheckpointBuffer> checked_buffers(const Communicator& communicator,
                                              std::vector<CheckpointBuffer> buffers);

}  // namespace dtrain::checkpoint
