// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "link/key.hpp"
#include "link/messages.hpp"
#include "link/reactor.hpp"
#include "link/timeouts.hpp"

namespace dtrain::link {

/// Node 0 does not want this node.
class CoordinatorRefuses : public UsageError {
  public:
    using UsageError::UsageError;
};

struct AgentOptions {
    std::string coordinator;  ///< node 0's address
    int port = 0;
    Key key;
    JoinRequest request;
    Environment environment;               ///< for the MPI daemon
    std::chrono::milliseconds timeout{0};  ///< for the coordinator to be there
    std::function<void(const Accepted&)> accepted;
    std::function<void(const FinalLine&)> write_final_line;
    std::function<void(const CheckCall&)> check =
        {};  ///< not set: this node does not let itself be inspected
    /// Asked often; true ends what runs here of the job, and the following.
    std::function<bool()> must_leave;
    /// What a stop signal does; not set: it stops the whole job.
    std::function<void(int signal)> on_stop;
    /// Where something else answers at the coordinator's port: who that may be, as the rest of a sentence.
    std::function<std::string()> holder;
};

struct Followed {
    int status = 0;
    std::string text;   ///< what went wrong
    bool left = false;  ///< because of AgentOptions::must_leave
};

/// One connection to the coordinator, from its first byte until the job is over or the connection lost.
/// follow() serves it; a test with a clock of its own does so itself.
class Following {
  public:
    /// @param time_to_prove how long the other side has to prove the key
    Following(const AgentOptions& options, FileDescriptor socket,
              std::chrono::milliseconds time_to_prove = link::time_to_prove,
              Reactor::Now now = Reactor::Clock::now);
    ~Following();
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

    Reactor& reactor();
    /// The job is over for this node.
    const std::optional<Followed>& outcome() const;
    /// Why the connection was lost; "" while it is there.
    const std::string& lost() const;
    /// The other side has not proven the key: it may be something else.
    bool is_unauthenticated() const;

    /// Serves until the job is over; nothing when the coordinator went away before it said anything: it may
    /// be busy, or not the coordinator.
    /// @throws UsageError when the coordinator has another key or refuses this node
    std::optional<Followed> run();

  private:
    class State;
    std::unique_ptr<State> state_;
};

/// The launcher of a node other than the first: connects to the coordinator as soon as that is there, runs
/// the MPI daemon for it, nothing else, and returns when the job is over. Nothing of the job runs on this
/// node then, whatever happened to the coordinator, the link or the daemon.
/// @throws UsageError when the coordinator has another key, refuses this node or is not there in time
Followed follow(const AgentOptions& options);

}  // namespace dtrain::link
