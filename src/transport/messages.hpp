// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "transport/frames.hpp"

/// Messages between launchers after both have proven the key, and between the remote shell and the
/// coordinator. "Coordinator" is the launcher that runs mpirun, "agents" are those of the other nodes.
namespace dtrain::transport {

/// Agent: its identity and resources.
struct JoinRequest {
    std::string version;    ///< dtrain's version
    std::string host_name;  ///< the machine's own host name
    int node_count = 0;
    std::string address;                             ///< its entry in `nodes`, or --host; "" if there is none
    std::optional<int> wanted_node;                  ///< value of --rank
    std::vector<std::string> nodes;                  ///< its list of nodes; empty: the nodes meet at --master
    std::vector<std::vector<std::string>> ranks;     ///< GPUs of each of its ranks
    std::optional<int> servers;                      ///< number of parameter servers, its first ranks
    std::string visible_gpus;                        ///< CUDA_VISIBLE_DEVICES of its programs
    std::map<std::string, std::string> assignments;  ///< assignments of its ranks, as in write_assignments
    std::string log_dir;                             ///< absolute, on its own disk
    std::string job_id;
    std::string run_mode;               ///< as in --run_mode
    std::vector<std::string> program;   ///< argv of its ranks
    std::string working_dir;            ///< working directory of its ranks, absolute
    bool leads = false;                 ///< it considers itself node 0; does the receiver do so, too?
    bool check = false;                 ///< it wants its machine inspected, without a job
    std::optional<std::string> unable;  ///< why it cannot take part: its program is missing
    friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

/// Coordinator: the agent is refused.
struct Refused {
    std::string reason;
    bool of_another_job = false;  ///< it belongs to another job, and neither launcher has an error
    friend bool operator==(const Refused&, const Refused&) = default;
};

/// Coordinator: the agent's part of the job.
struct Accepted {
    int node = 0;
    int nodes = 0;
    int first_rank = 0;
    int ranks = 0;
    std::string members;  ///< for a parameter-server job, instead of ranks: "server 1, workers 2-3"
    bool by_ssh = false;  ///< its ranks were started over ssh before it joined
    friend bool operator==(const Accepted&, const Accepted&) = default;
};

/// Coordinator: run an inspection of this machine; its program connects to this port of the coordinator, with
/// this nonce.
struct CheckCall {
    int port = 0;
    std::string nonce;
    friend bool operator==(const CheckCall&, const CheckCall&) = default;
};

/// Remote shell: run the MPI daemon on a host. `command` is what mpirun passed to its remote shell.
struct RunOn {
    std::string host;
    std::string command;
    friend bool operator==(const RunOn&, const RunOn&) = default;
};

/// Coordinator to remote shell: the node has no agent, use ssh.
struct UseSsh {
    std::string host;  ///< the host for ssh; "": mpirun's name of the node
    friend bool operator==(const UseSsh&, const UseSsh&) = default;
};

/// Coordinator: start the MPI daemon.
struct RunDaemon {
    int run = 0;  ///< increasing number; messages about another run are out of date
    std::string command;
    std::string job_token;  ///< DTRAIN_JOB_TOKEN of all processes that this daemon starts
    int grace_ms = 0;       ///< grace time of programs before they are killed
    friend bool operator==(const RunDaemon&, const RunDaemon&) = default;
};

/// Coordinator: end the MPI daemon, which mpirun no longer needs.
struct StopDaemon {
    int run = 0;
    friend bool operator==(const StopDaemon&, const StopDaemon&) = default;
};

/// Agent, and coordinator to remote shell: output of the daemon.
struct DaemonOutput {
    int run = 0;
    bool to_stderr = false;
    std::string text;
    friend bool operator==(const DaemonOutput&, const DaemonOutput&) = default;
};

/// Agent, and coordinator to remote shell: the daemon has ended.
struct DaemonEnded {
    int run = 0;
    int status = 0;      ///< as in a shell
    std::string reason;  ///< why it did not start, or was ended; else ""
    friend bool operator==(const DaemonEnded&, const DaemonEnded&) = default;
};

/// Agent: it got a stop signal.
struct StopJob {
    int signal = 0;
    friend bool operator==(const StopJob&, const StopJob&) = default;
};

/// Coordinator: append this last line to a rank's log on the agent's node.
struct FinalLine {
    std::string log;  ///< file name in the agent's log folder
    std::string line;
    friend bool operator==(const FinalLine&, const FinalLine&) = default;
};

/// Coordinator: the job is over.
struct JobEnded {
    int status = 0;
    std::string text;  ///< one line about what went wrong; else ""
    friend bool operator==(const JobEnded&, const JobEnded&) = default;
};

/// Agent and coordinator: still alive.
struct Heartbeat {
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

using Message = std::variant<JoinRequest, Refused, Accepted, CheckCall, RunOn, UseSsh, RunDaemon, StopDaemon,
                             DaemonOutput, DaemonEnded, StopJob, FinalLine, JobEnded, Heartbeat>;

std::string encode(const Message& message);

/// @throws LinkError if the text is not a message.
Message decode(std::string_view text);

}  // namespace dtrain::transport
