// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "comm/api/call.hpp"
#include "comm/nccl/nccl_state.hpp"

namespace dtrain::comm {

/// Location of memory.
enum class MemoryLocation : std::uint8_t { nowhere, host, this_gpu, other_gpu };

/// One NCCL communicator and its stream on one GPU, in the form that the operation queue needs. No call waits
/// for other ranks, so that the waiting rank can check deadlines and progress MPI.
class NcclPort {
  public:
    virtual ~NcclPort() = default;

    virtual NcclAnswer join() = 0;
    /// Issues one operation, or several messages as one group, in stream order.
    virtual NcclAnswer issue(std::span<const Call> calls) = 0;
    /// State of the last of these calls, or of the communicator.
    virtual NcclAnswer status() = 0;
    /// Records an event after everything issued so far; it is reached once the GPU has executed that.
    virtual std::size_t mark() = 0;
    virtual NcclAnswer reached(std::size_t mark) = 0;  ///< an event that was reached is released
    /// The event that the last issue() waits for: everything enqueued in the computing stream before.
    virtual std::size_t mark_before() const = 0;
    virtual void release(std::size_t mark) = 0;

    /// Why operations cannot be captured; "" if they can.
    virtual std::string why_not_captured() const = 0;
    /// While the computing stream is being captured: issue() of one call; then, once it is done, an event
    /// after it.
    virtual NcclAnswer fork(const Call& call) = 0;
    virtual std::size_t forked() = 0;
    /// Makes later work of the computing stream wait for it. @throws NcclError
    virtual void join(std::size_t forked) = 0;
    /// Like mark(), but after everything enqueued in the computing stream.
    virtual std::size_t mark_computed() = 0;

    virtual NcclAnswer leave() = 0;
    /// Call after leave() is done.
    virtual void end() = 0;

    /// A function that aborts the communicator, for another thread; it may never return and may outlive this
    /// object. Afterwards only reached() and the destructor may be called.
    virtual std::function<void()> aborter() = 0;

    virtual MemoryLocation location_of(const void* memory) const = 0;

    /// GPU memory registered with NCCL, zeroed. @throws NcclError
    struct Memory {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        void* registration = nullptr;
    };
    virtual Memory allocate(std::size_t bytes) = 0;
    /// Call while no operation is pending.
    virtual void free(const Memory& memory) = 0;

    virtual int device() const = 0;
    /// "NCCL 2.28.9 on GPU 0"
    virtual std::string describe() const = 0;
};

}  // namespace dtrain::comm
