// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <dtrain/comm_call.hpp>

#include "comm/nccl_state.hpp"

namespace dtrain::comm {

/// Where memory is.
enum class MemoryPlace : std::uint8_t { nowhere, host, this_gpu, other_gpu };

/// One communicator of NCCL and its stream on one GPU, as the queue of operations needs it. No call waits for
/// other ranks, so that what waits can look after deadlines and after MPI.
class NcclPort {
  public:
    virtual ~NcclPort() = default;

    virtual NcclAnswer join() = 0;
    /// One operation, or several messages as one group, in the order of the streams.
    virtual NcclAnswer issue(std::span<const Call> calls) = 0;
    /// What has become of the last of these calls, or of the communicator.
    virtual NcclAnswer status() = 0;
    /// Puts a mark behind all that was issued; the GPU reaches it when it has done that.
    virtual std::size_t mark() = 0;
    virtual NcclAnswer reached(std::size_t mark) = 0;  ///< a mark that was reached is gone

    /// Why operations cannot be captured; "" when they can.
    virtual std::string why_not_captured() const = 0;
    /// While the stream that computes is captured: issue(), of one; then, once it is done, a mark behind it.
    virtual NcclAnswer fork(const Call& call) = 0;
    virtual std::size_t forked() = 0;
    /// What the stream that computes is given from now on waits for it. @throws NcclError
    virtual void join(std::size_t forked) = 0;
    /// As mark(), behind all that the stream was given that computes.
    virtual std::size_t mark_computed() = 0;

    virtual NcclAnswer leave() = 0;
    /// After leave() is done.
    virtual void end() = 0;

    /// What aborts the communicator, for another thread; may last for ever and outlive this. No call of this
    /// but reached() and the destructor may follow.
    virtual std::function<void()> aborter() = 0;

    virtual MemoryPlace place_of(const void* memory) const = 0;

    /// Memory of the GPU that NCCL knows, zeroed. @throws NcclError
    struct Memory {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        void* registration = nullptr;
    };
    virtual Memory allocate(std::size_t bytes) = 0;
    /// While no operation is under way.
    virtual void free(const Memory& memory) = 0;

    virtual int device() const = 0;
    /// "NCCL 2.28.9 on GPU 0"
    virtual std::string describe() const = 0;
};

}  // namespace dtrain::comm
