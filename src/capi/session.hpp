// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <dtrain/c_api.h>
#include <dtrain/communicator.hpp>
#include <dtrain/parallel_env.hpp>

namespace dtrain::capi {

/// What lives from the first function that needs it to dtrain_finish(): the communicator of all ranks from
/// dtrain_init() on, and those that need none.
class Session {
  public:
    Session() : communicators_(1) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// Collective, as is the end of a session with a world. @throws UsageError if it has one
    void begin_world();
    bool has_world() const { return communicators_.front().has_value(); }

    /// @throws UsageError if there is no such communicator
    const Communicator& communicator(dtrain_comm comm) const;

    dtrain_comm add(Communicator communicator);
    /// Collective over the communicator. @throws UsageError if there is no such, or something is under way
    void free(dtrain_comm comm);

    /// Collective over the communicator, which then lives as long as the session: the memory may outlive its
    /// handle, and ranks give the memory up at different times.
    SharedBuffer allocate(dtrain_comm comm, std::size_t bytes);

    /// @returns 0 if the operation is complete
    dtrain_request add(dtrain_comm comm, Request operation);
    /// @param operations of one call, in their order
    dtrain_request add(dtrain_comm comm, std::vector<Request> operations);
    bool test(dtrain_request request);
    /// The request is gone afterwards, also if it failed.
    void wait(dtrain_request request);
    /// False if the time was over first; else as wait().
    bool wait_for(dtrain_request request, std::chrono::duration<double> limit);

    /// @throws UsageError if a request of this communicator has not been waited for; none: of any
    void refuse_while_under_way(std::optional<dtrain_comm> comm) const;

  private:
    struct UnderWay {
        dtrain_comm comm = DTRAIN_WORLD;
        std::vector<Request> operations;
    };

    std::map<dtrain_request, UnderWay>::iterator find(dtrain_request request);

    std::optional<ParallelEnv> env_;  // none: MPI is the program's own
    std::vector<std::optional<Communicator>>
        communicators_;  // freed ones stay empty: all ranks free in one order
    std::map<dtrain_comm, Communicator> allocating_;
    std::map<dtrain_request, UnderWay> under_way_;  // ends before the communicators
    dtrain_request started_ = 0;
};

/// @throws UsageError without dtrain_init() or a communicator that needs none
Session& session();

/// For what needs no dtrain_init().
Session& session_or_new();

/// The end of the process ends the session that there is. Call it when its communicators have been made: what
/// they use still exists then, because it is destroyed in reverse order.
void end_sessions_with_process();

}  // namespace dtrain::capi
