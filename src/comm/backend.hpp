// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <dtrain/communicator.hpp>

namespace dtrain {

namespace comm {
enum class Element { float32, float64, int64 };
enum class Reduction { sum, min, max };
}  // namespace comm

/// What a Communicator stands on: one implementation without MPI for a world of one, one over MPI.
class CommunicatorBackend {
  public:
    virtual ~CommunicatorBackend() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void barrier() = 0;
    virtual void allreduce(void* data, std::size_t count, comm::Element element,
                           comm::Reduction reduction) = 0;
    virtual Request start_allreduce_sum(float* data, std::size_t count) = 0;
    virtual void broadcast(std::byte* data, std::size_t bytes, int root) = 0;

    /// `all` has room for size() blocks of `bytes`.
    virtual void allgather(const std::byte* mine, std::size_t bytes, std::byte* all) = 0;

    /// True when the operation is complete; its handle is then no longer valid.
    virtual bool test(std::uintptr_t& handle) = 0;
    virtual void wait(std::uintptr_t& handle) = 0;
};

namespace comm {

std::shared_ptr<CommunicatorBackend> local_backend();

/// All ranks are about to throw the same error, so that ending MPI while unwinding waits for nobody. Holds
/// until the next operation of any MPI communicator.
void note_agreed_failure(bool agreed);
bool failure_is_agreed();

}  // namespace comm
}  // namespace dtrain
