// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/comm_error.hpp>

namespace dtrain {

class CommunicatorBackend;

/// An operation that was started. Movable. Its buffers belong to the operation until wait() or test() says
/// that it is complete; the communicator must live as long. Operations of one communicator go on, in the
/// order in which they were started, whenever any of its operations is started, tested or waited for.
class Request {
  public:
    Request() = default;  ///< complete
    Request(CommunicatorBackend* backend, std::uintptr_t handle) : backend_(backend), handle_(handle) {}
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;  ///< waits for the operation that was held
    /// Waits, except while an exception unwinds: then the other ranks may never come.
    ~Request();

    /// Pokes the operation on; true when it is complete. @throws MpiError, CommunicatorTimeout
    bool test();

    /// @throws MpiError, CommunicatorTimeout
    void wait();

    bool complete() const { return backend_ == nullptr; }

  private:
    CommunicatorBackend* backend_ = nullptr;
    std::uintptr_t handle_ = 0;
};

}  // namespace dtrain
