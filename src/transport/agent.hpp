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
#include "transport/key.hpp"
#include "transport/messages.hpp"
#include "transport/reactor.hpp"
#include "transport/timeouts.hpp"

namespace dtrain::transport {

/// Node 0 refuses this node.
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
    std::chrono::milliseconds timeout{0};  ///< for the coordinator to answer
    std::function<void(const Accepted&)> accepted;
    std::function<void(const FinalLine&)> write_final_line;
    std::function<void(const CheckCall&)> check = {};  ///< not set: this node refuses to be inspected
    /// Polled; true ends this node's part of the job, and follow().
    std::function<bool()> must_leave;
    /// Handles a stop signal; not set: a stop signal stops the whole job.
    std::function<void(int signal)> on_stop;
    /// If something else answers at the coordinator's port: which program that may be, as the rest of a
    /// sentence.
    std::function<std::string()> holder;
};

struct Followed {
    int status = 0;
    std::string text;   ///< what went wrong
    bool left = false;  ///< true: ended by AgentOptions::must_leave
};

/// One connection to the coordinator, from its first byte until the job is over or the connection is lost.
/// follow() serves it; a test with its own clock serves it itself.
class Following {
  public:
    /// @param authentication_timeout time limit for the other side to prove the key
    Following(const AgentOptions& options, FileDescriptor socket,
              std::chrono::milliseconds authentication_timeout = transport::authentication_timeout,
              Reactor::Now now = Reactor::Clock::now);
    ~Following();
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

    Reactor& reactor();
    /// Set once the job is over for this node.
    const std::optional<Followed>& outcome() const;
    /// Why the connection was lost; "" while it is open.
    const std::string& lost() const;
    /// Whether the other side has not proven the key: it may be another program.
    bool is_unauthenticated() const;

    /// Serves the connection until the job is over; nothing if the coordinator closed it before it sent
    /// anything: it may be busy, or not the coordinator.
    /// @throws UsageError if the coordinator has another key or refuses this node
    std::optional<Followed> run();

  private:
    class State;
    std::unique_ptr<State> state_;
};

/// Runs the agent, i.e. the launcher of a node other than the first: connects to the coordinator as soon as
/// it answers, runs the MPI daemon for it, nothing else, and returns when the job is over. No process of the
/// job is left on this node then, whatever happened to the coordinator, the link or the daemon.
/// @throws UsageError if the coordinator has another key, refuses this node or does not answer in time
Followed follow(const AgentOptions& options);

}  // namespace dtrain::transport
