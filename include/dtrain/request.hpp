// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <dtrain/comm_error.hpp>

namespace dtrain {

class CommunicatorBackend;

/// A started operation. Movable. Its buffers belong to the operation until wait() or test() reports that it
/// is complete; the communicator must outlive it. Operations of a communicator progress, in the order in
/// which they were started, whenever any of its operations is started, tested or waited for.
class Request {
  public:
    Request() = default;  ///< a completed request
    /// For the library's own use.
    Request(CommunicatorBackend* backend, std::uintptr_t handle) : backend_(backend), handle_(handle) {}
    /// Takes over the operation; `other` is complete afterwards.
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;  ///< waits for the operation that was held
    /// Waits, except during stack unwinding: the other ranks may then never enter the operation.
    ~Request();

    /// Progresses the operation; returns true once it is complete. @throws MpiError, CommunicatorTimeout
    bool test();

    /// Waits until the operation is complete. @throws MpiError, CommunicatorTimeout
    void wait();

    /// wait() for at most this long, or some milliseconds more. False if the operation is not complete by
    /// then: it goes on, and may be tested and waited for again. 0 or less is test().
    /// @throws MpiError, CommunicatorTimeout as wait(): the communicator's own deadline holds here too
    bool wait_for(std::chrono::duration<double> limit);

    /// True if nothing is left to wait for: as test() or wait() last found.
    bool complete() const { return backend_ == nullptr; }

  private:
    CommunicatorBackend* backend_ = nullptr;
    std::uintptr_t handle_ = 0;
};

}  // namespace dtrain
