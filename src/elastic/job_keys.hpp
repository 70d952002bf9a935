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

/// What an elastic job keeps in etcd, below /paddle/<job>, where Paddle keeps the same.
namespace dtrain::elastic {

/// The names of a job's keys.
class JobKeys {
  public:
    /// @throws UsageError for a job id that is empty or has a '/' in it.
    explicit JobKeys(const std::string& job_id);

    const std::string& job_id() const { return job_id_; }
    const std::string& state() const { return state_; }   ///< "running", "completed" or "failed"
    const std::string& below() const { return below_; }   ///< begins all keys but state()
    std::string wanted() const { return below_ + "np"; }  ///< "2" or "2:4"
    std::string coordinator() const {
        return below_ + "head";
    }                                                          ///< name of a node; held by that node's lease
    std::string start() const { return below_ + "start"; }     ///< the last Start
    std::string outcome() const { return below_ + "status"; }  ///< exit status of the job that has ended
    std::string endpoints() const { return below_ + "endpoints"; }  ///< as Paddle: "host,host|host:port,..."
    std::string nodes() const { return below_ + "nodes/"; }         ///< begins the keys of nodes
    std::string node(std::string_view name) const { return nodes() + std::string(name); }

  private:
    std::string job_id_;
    std::string state_;
    std::string below_;
};

/// States of a job, as Paddle 2.4 and later write them.
inline constexpr std::string_view state_running = "running";
inline constexpr std::string_view state_completed = "completed";
inline constexpr std::string_view state_failed = "failed";

/// A node that takes part, or would.
struct Node {
    std::string name;     ///< its address, with #2 and so on for more launchers there
    std::string address;  ///< where the others reach it
    std::string host;     ///< what it calls itself
    int processes = 0;    ///< that it would run; 0: not known
    std::vector<std::string> gpus;
    std::string version;     ///< of dtrain
    std::string launcher;    ///< random mark of its launcher's process; "": of a version that had none
    std::int64_t start = 0;  ///< number of the start that it works on; 0: it is free
    friend bool operator==(const Node&, const Node&) = default;
};

/// Whether two entries are of one process: a launcher that is started again at the address of one that was
/// killed is another. Where one of them has no mark, the name alone tells.
bool is_same_launcher(const Node& a, const Node& b);

/// One start of the job on certain nodes.
struct Start {
    std::int64_t number = 0;  ///< counts from 1
    std::string run = {};     ///< random mark, which all starts of one job have
    std::string coordinator;  ///< name of the node that drives it
    std::vector<Node> nodes;  ///< by node rank; the coordinator is among them

    /// nullptr: it is none of them.
    const Node* node(std::string_view name) const;
    friend bool operator==(const Start&, const Start&) = default;
};

/// Nothing for a text that is none: of another program, or of a later version.
std::string to_json(const Node& node);
std::optional<Node> node_of(std::string_view json);
std::string to_json(const Start& start);
std::optional<Start> start_of(std::string_view json);

/// A node as etcd has it.
struct LivingNode {
    Node node;
    std::int64_t arrived = 0;  ///< revision: counts up
    friend bool operator==(const LivingNode&, const LivingNode&) = default;
};

/// All that etcd says of a job, at one revision.
struct JobView {
    std::int64_t revision = 0;
    std::string state;  ///< "" when there is no such job
    std::optional<NodeCount> wanted;
    std::string coordinator;             ///< name; "": none
    std::int64_t coordinator_lease = 0;  ///< that holds it
    std::optional<Start> start;          ///< the last
    std::optional<int> outcome;
    std::vector<LivingNode> nodes;  ///< in the order of arrival

    const Node* node(std::string_view name) const;
    /// Whether the launcher of a node of an earlier view is still there.
    bool has(const Node& node) const;
    std::vector<std::string> names() const;
    friend bool operator==(const JobView&, const JobView&) = default;
};

/// @param found everything that begins with keys.state(); what belongs to other jobs is passed over
JobView job_view(const JobKeys& keys, const Found& found);

}  // namespace dtrain::elastic
