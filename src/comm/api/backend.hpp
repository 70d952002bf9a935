// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <mpi.h>

#include <dtrain/communicator.hpp>

#include "comm/api/call.hpp"
#include "comm/api/captured_operations.hpp"
#include "comm/failure/failure_monitor.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain {

namespace comm {
class Transport;
}

/// Interface of the implementations behind a Communicator: one without MPI for a world of one rank, one over
/// MPI, and one over NCCL for GPU memory. The arguments have already been validated.
class CommunicatorBackend {
  public:
    virtual ~CommunicatorBackend() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    virtual Request start(const comm::Call& call) = 0;
    virtual void run(const comm::Call& call) = 0;  ///< start() and wait()

    /// True if the operation is complete; its handle is then no longer valid.
    virtual bool test(std::uintptr_t handle) = 0;
    virtual void wait(std::uintptr_t handle) = 0;
    /// False if `end` came first: the operation goes on, and the handle stays valid.
    virtual bool wait_until(std::uintptr_t handle, comm::Backoff::Clock::time_point end) = 0;

    virtual void set_deadline(std::chrono::duration<double> deadline) = 0;  ///< 0: none
    /// In reports. Backends that record no operations have none.
    virtual void set_name(std::string_view) {}

    virtual SharedBuffer allocate(std::size_t bytes, const std::shared_ptr<CommunicatorBackend>& self) = 0;
    /// The GPU whose memory allocate() returns, "NCCL 2.28.9 on GPU 0"; "" if it is memory of the host.
    virtual std::string gpu_of_memory() const { return {}; }
    virtual std::shared_ptr<CommunicatorBackend> split(int color, int key) = 0;
    /// Collective over the listed ranks, of which this rank is one.
    virtual std::shared_ptr<CommunicatorBackend> subset(std::span<const int> ranks, int tag) = 0;

    virtual std::unique_ptr<comm::Transport> open_transport() = 0;
    virtual std::unique_ptr<comm::FailureMonitor> open_failure_monitor() = 0;

    /// A duplicate that the caller frees. Collective. @throws Error if MPI is not running
    virtual MPI_Comm copy_for_mpi() = 0;

    /// False when it is pointless to wait in a destructor for operations under way.
    virtual bool may_wait() const { return !comm::leaves_alone(); }

    /// Null if the backend does not support them.
    virtual comm::CapturedOperations* captured_operations() { return nullptr; }

    virtual int nodes() const = 0;
    virtual int node() const = 0;       ///< number of this rank's node
    virtual int node_rank() const = 0;  ///< among the ranks of the node
    virtual int node_size() const = 0;  ///< ranks of the node
    virtual std::string describe() const = 0;
};

namespace comm {

std::shared_ptr<CommunicatorBackend> local_backend();

/// For another backend on the same ranks.
std::shared_ptr<CommunicatorBackend> backend_of(const Communicator& communicator);

}  // namespace comm

/// What the library's own code reaches in a Communicator.
struct detail::CommunicatorAccess {
    static const std::shared_ptr<CommunicatorBackend>& backend_of(const Communicator& communicator) {
        return communicator.backend_;
    }
};

}  // namespace dtrain
