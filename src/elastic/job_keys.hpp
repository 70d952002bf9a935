// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elastic/etcd_wire.hpp"
#include "elastic/node_count.hpp"

/// The state of an elastic job in etcd, below /paddle/<job>, as in Paddle.
namespace dtrain::elastic {

/// The names of a job's keys.
class JobKeys {
  public:
    /// @throws UsageError if the job id is empty or contains a '/'.
    explicit JobKeys(const std::string& job_id);

    const std::string& job_id() const { return job_id_; }
    const std::string& state() const { return state_; }   ///< "running", "completed" or "failed"
    const std::string& below() const { return below_; }   ///< prefix of all keys except state()
    std::string wanted() const { return below_ + "np"; }  ///< "2" or "2:4"
    std::string coordinator() const {
        return below_ + "head";
    }                                                          ///< name of a node; held by that node's lease
    std::string start() const { return below_ + "start"; }     ///< the last Start
    std::string outcome() const { return below_ + "status"; }  ///< exit status of the finished job
    std::string endpoints() const { return below_ + "endpoints"; }  ///< as Paddle: "host,host|host:port,..."
    std::string nodes() const { return below_ + "nodes/"; }         ///< prefix of the nodes' keys
    std::string node(std::string_view name) const { return nodes() + std::string(name); }

  private:
    std::string job_id_;
    std::string state_;
    std::string below_;
};

/// States of a job, as written by Paddle 2.4 and later.
inline constexpr std::string_view state_running = "running";
inline constexpr std::string_view state_completed = "completed";
inline constexpr std::string_view state_failed = "failed";

/// A node that takes part, or is ready to.
struct Node {
    std::string name;     ///< its address, with #2 and so on for further launchers at that address
    std::string address;  ///< where the others reach it
    std::string host;     ///< its own host name
    int processes = 0;    ///< number of processes it would run; 0: unknown
    std::vector<std::string> gpus;
    std::string version;     ///< dtrain's version
    std::string launcher;    ///< random id of its launcher process; "": from a version without it
    std::int64_t start = 0;  ///< number of the start it works on; 0: none
    friend bool operator==(const Node&, const Node&) = default;
};

/// Whether two entries belong to the same process: a launcher that is started at the address of a killed one
/// is a different one. If either entry has no launcher id, only the names are compared.
bool is_same_launcher(const Node& a, const Node& b);

/// One start of the job on certain nodes.
struct Start {
    std::int64_t number = 0;  ///< counts from 1
    std::string run = {};     ///< random id shared by all starts of a job
    std::string coordinator;  ///< name of the coordinator node
    std::vector<Node> nodes;  ///< by node rank; includes the coordinator

    /// nullptr if the node is not part of this start.
    const Node* node(std::string_view name) const;
    friend bool operator==(const Start&, const Start&) = default;
};

/// Parsing returns nothing for an invalid text: of another program, or of a later version.
std::string to_json(const Node& node);
std::optional<Node> node_of(std::string_view json);
std::string to_json(const Start& start);
std::optional<Start> start_of(std::string_view json);

/// A node as registered in etcd.
struct LivingNode {
    Node node;
    std::int64_t arrived = 0;  ///< etcd revision: increasing
    friend bool operator==(const LivingNode&, const LivingNode&) = default;
};

/// The complete state of a job in etcd, as of one revision.
struct JobView {
    std::int64_t revision = 0;
    std::string state;  ///< "" if there is no such job
    std::optional<NodeCount> wanted;
    std::string coordinator;             ///< name; "": none
    std::int64_t coordinator_lease = 0;  ///< the lease that holds it
    std::optional<Start> start;          ///< the last one
    std::optional<int> outcome;
    std::vector<LivingNode> nodes;  ///< in the order of arrival

    const Node* node(std::string_view name) const;
    /// Whether the launcher of a node in an earlier view is still there.
    bool has(const Node& node) const;
    std::vector<std::string> names() const;
    friend bool operator==(const JobView&, const JobView&) = default;
};

/// @param found all keys that begin with keys.state(); those of other jobs are skipped
JobView job_view(const JobKeys& keys, const Found& found);

}  // namespace dtrain::elastic
