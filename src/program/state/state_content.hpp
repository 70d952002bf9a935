// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/shared_buffer.hpp>

#include "program/passes/aligned_memory.hpp"
#include "program/state/state_on_gpu.hpp"

namespace dtrain {

struct State::Content {
    program::AlignedMemory own;  // memory of all variables, or of those that are not shared
    SharedBuffer shared;
    bool is_shared = false;
    std::size_t shared_bytes = 0;
    std::size_t bytes = 0;
    std::vector<std::size_t> offsets;  // of the tensors; offsets below shared_bytes are in the shared copy
    std::vector<StateTensor> tensors;
    std::unique_ptr<program::StateOnGpu> on_gpu;  // set if an executor uses it on a GPU

    explicit Content(const Program& program);
    /// A copy with separate memory.
    Content(const Content& other);

    std::byte* address_of(std::size_t offset) const;
    void place();
    void initialise(const Program& program, std::uint64_t seed, bool shared_ones) const;

    /// Call it before reading or writing the tensors on the host.
    void read_on_host() const {
        if (on_gpu) on_gpu->read_on_host();
    }
    void write_on_host() const {
        if (on_gpu) on_gpu->write_on_host();
    }
};

}  // namespace dtrain
