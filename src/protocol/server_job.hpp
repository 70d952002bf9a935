// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::cluster {

/// The role of a rank in its job.
enum class Role {
    trainer,       ///< of a collective job
    server,        ///< holds the parameters of a parameter-server job
    worker,        ///< trains in a parameter-server job
    heter_worker,  ///< runs a later stage of training, on another device
};

/// "heter_worker".
std::string to_string(Role role);

/// Name of a rank's log file from its index in its role: "workerlog.3", "serverlog.0", "heterlog.1".
std::string log_name(Role role, int index);

/// A stage of heterogeneous workers; the workers themselves are stage 1.
struct HeterStage {
    std::string device = "gpu";
    std::vector<std::string> endpoints = {};  ///< "host:port"
    friend bool operator==(const HeterStage&, const HeterStage&) = default;
};

/// The addresses of a parameter-server job, each list in the order of the ranks in that role. MPI ranks are
/// numbered servers first, then workers, then stage by stage.
struct ServerJob {
    std::vector<std::string> servers = {};  ///< "host:port"
    std::vector<std::string> workers = {};
    std::vector<HeterStage> stages = {};
    std::string gloo_endpoint = {};  ///< rendezvous address of Gloo's ranks, on the first server's host
    friend bool operator==(const ServerJob&, const ServerJob&) = default;
};

/// Role, index and endpoint of a rank in a parameter-server job.
struct Member {
    Role role = Role::trainer;
    int index = 0;  ///< within its role; heterogeneous workers are numbered across all stages
    int stage = 0;  ///< 1 for workers, 2 and more for heterogeneous workers, 0 for servers
    std::string endpoint = {};
    friend bool operator==(const Member&, const Member&) = default;
};

/// The member with this MPI rank.
/// @throws UsageError if the job has fewer ranks.
Member member_of(const ServerJob& job, int rank);

}  // namespace dtrain::cluster
