// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "link/frames.hpp"

/// What launchers say to each other once both have proven the key, and what the remote shell says to
/// the coordinator beside it. "Coordinator" is the launcher that runs mpirun, "agents" are those of the other
/// nodes.
namespace dtrain::link {

/// Agent: who it is, and what it has.
struct JoinRequest {
    std::string version;    ///< of dtrain
    std::string host_name;  ///< what the machine calls itself
    int node_count = 0;
    std::string address;             ///< its place in `nodes`, or --host; "" when it has none
    std::optional<int> wanted_node;  ///< --rank
    std::vector<std::string> nodes;  ///< the list that it was started with; empty: nodes meet at --master
    std::vector<std::vector<std::string>> ranks;  ///< GPUs of each of its ranks
    std::optional<int> servers;                   ///< how many of them, the first ones, are parameter servers
    std::string visible_gpus;                     ///< CUDA_VISIBLE_DEVICES of its programs
    std::map<std::string, std::string>
        assignments;      ///< what its ranks got of it, as write_assignments has it
    std::string log_dir;  ///< absolute, on its own disk
    std::string job_id;
    std::string run_mode;              ///< as --run_mode has it
    std::vector<std::string> program;  ///< argv of its ranks
    std::string working_dir;           ///< theirs, absolute
    bool leads = false;                ///< it takes itself for node 0, and asks whether this one does so too
    bool check = false;                ///< it wants its machine inspected, and no job
    friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

/// Coordinator: the agent is not wanted.
struct Refused {
    std::string reason;
    bool of_another_job = false;  ///< and nothing is wrong with either
    friend bool operator==(const Refused&, const Refused&) = default;
};

/// Coordinator: the agent's part of the job.
struct Accepted {
    int node = 0;
    int nodes = 0;
    int first_rank = 0;
    int ranks = 0;
    std::string members;  ///< of a parameter-server job, instead: "server 1, workers 2-3"
    bool by_ssh = false;  ///< its ranks were started over ssh before it came
    friend bool operator==(const Accepted&, const Accepted&) = default;
};

/// Coordinator: have this machine inspected; what does so shall call the coordinator at that port, with that
/// word.
struct CheckCall {
    int port = 0;
    std::string nonce;
    friend bool operator==(const CheckCall&, const CheckCall&) = default;
};

/// Remote shell: run the MPI daemon there. `command` is what mpirun gave its remote shell.
struct RunOn {
    std::string host;
    std::string command;
    friend bool operator==(const RunOn&, const RunOn&) = default;
};

/// Coordinator to remote shell: that node has no agent.
struct UseSsh {
    std::string host;  ///< where ssh finds it; "": as mpirun calls it
    friend bool operator==(const UseSsh&, const UseSsh&) = default;
};

/// Coordinator: start the MPI daemon.
struct RunDaemon {
    int run = 0;  ///< counts up; what is said about another run is out of date
    std::string command;
    std::string job_token;  ///< DTRAIN_JOB_TOKEN of all that this daemon starts
    int grace_ms = 0;       ///< which programs get before they are killed
    friend bool operator==(const RunDaemon&, const RunDaemon&) = default;
};

/// Coordinator: end the MPI daemon, which mpirun wants no more.
struct StopDaemon {
    int run = 0;
    friend bool operator==(const StopDaemon&, const StopDaemon&) = default;
};

/// Agent, and coordinator to remote shell: what the daemon printed.
struct DaemonOutput {
    int run = 0;
    bool to_stderr = false;
    std::string text;
    friend bool operator==(const DaemonOutput&, const DaemonOutput&) = default;
};

/// Agent, and coordinator to remote shell.
struct DaemonEnded {
    int run = 0;
    int status = 0;      ///< as a shell has it
    std::string reason;  ///< why it never ran, or was ended; "" else
    friend bool operator==(const DaemonEnded&, const DaemonEnded&) = default;
};

/// Agent: somebody asked it to stop.
struct StopJob {
    int signal = 0;
    friend bool operator==(const StopJob&, const StopJob&) = default;
};

/// Coordinator: the line with which a rank's log ends there.
struct FinalLine {
    std::string log;  ///< a file of the agent's log folder
    std::string line;
    friend bool operator==(const FinalLine&, const FinalLine&) = default;
};

/// Coordinator: the job is over.
struct JobEnded {
    int status = 0;
    std::string text;  ///< one line about what went wrong; "" else
    friend bool operator==(const JobEnded&, const JobEnded&) = default;
};

/// Both: still there.
struct Heartbeat {
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

using Message = std::variant<JoinRequest, Refused, Accepted, CheckCall, RunOn, UseSsh, RunDaemon, StopDaemon,
                             DaemonOutput, DaemonEnded, StopJob, FinalLine, JobEnded, Heartbeat>;

std::string encode(const Message& message);

/// @throws LinkError for what is no message.
Message decode(std::string_view text);

}  // namespace dtrain::link
