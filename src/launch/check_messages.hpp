// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Messages between dtrain-launch --check and the program that it runs on each node (dtrain-check): one JSON
/// object per line. Pure.
namespace dtrain::launch {

/// The value of an unlimited limit, as in setrlimit.
inline constexpr std::uint64_t unlimited = UINT64_MAX;

/// The first message to a node.
struct CheckTask {
    std::string nonce;  ///< known only to the nodes of this check
    std::string log_dir;
    std::string working_dir;
    std::map<std::string, std::string> variables;  ///< variables that a job would pass on
    int lifetime_s = 0;                            ///< after which the program ends by itself
    friend bool operator==(const CheckTask&, const CheckTask&) = default;
};

/// Another node that listens for connections.
struct CheckPeer {
    int node = 0;
    std::string host;
    int port = 0;
    friend bool operator==(const CheckPeer&, const CheckPeer&) = default;
};

using ToChecked = std::variant<CheckTask, std::vector<CheckPeer>>;

/// An issue of one of a node's GPUs, reported by its driver.
struct GpuIssue {
    int gpu = 0;            ///< index on its node
    std::string pci;        ///< used instead if the node has no index for it
    bool is_fault = false;  ///< else it is a warning
    std::string text;
    std::string remedy;
    friend bool operator==(const GpuIssue&, const GpuIssue&) = default;
};

/// A node's info about itself; "" means unknown.
struct NodeInfo {
    int port = 0;  ///< where it listens for probes
    std::string host_name;
    std::string dtrain;  ///< version
    std::string mpi;     ///< the MPI that dtrain runs with: "Open MPI 4.1.4"
    std::string mpirun;  ///< in the PATH of a command on this node: "4.1"
    std::string nccl;
    std::string cuda_runtime;  ///< the one dtrain was built with: "13.0"
    std::string cuda_driver;   ///< newest CUDA that the driver supports
    std::string gpu_driver;    ///< this and the next two as in GpuSoftware
    std::string nccl_built;
    std::string nccl_needed;
    std::string nccl_cuda;
    int gpus = 0;                      ///< visible to programs
    std::string gpu_models;            ///< each model once
    std::string gpu_error;             ///< why CUDA_VISIBLE_DEVICES cannot be used
    std::vector<GpuIssue> gpu_issues;  ///< issues of the visible GPUs
    bool rdma = false;                 ///< it has an adapter that needs locked memory
    std::uint64_t shm_bytes = 0;
    std::uint64_t shm_free = 0;
    std::uint64_t memlock = unlimited;     ///< bytes
    std::uint64_t open_files = unlimited;  ///< soft limit
    std::string worker_error;              ///< why dtrain-worker does not run there
    std::string log_dir_error;             ///< why nothing can be written into the log folder
    std::string working_dir_error;
    friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

/// One connection to another node.
struct ProbeResult {
    int to = 0;
    std::string error;               ///< "" if it succeeded
    std::int64_t round_trip_us = 0;  ///< the shortest of several
    std::int64_t other_ahead_us =
        0;  ///< other node's clock minus this one's, with an error of at most half a round trip
    friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

using FromChecked = std::variant<NodeInfo, ProbeResult>;

/// One line, without its newline.
std::string to_line(const ToChecked& message);
std::string to_line(const FromChecked& message, const std::string& nonce);

/// @throws Error if the line is not such a message
ToChecked parse_to_checked(std::string_view line);

/// Nothing for a line from another source, such as a login script.
std::optional<FromChecked> parse_from_checked(std::string_view line, const std::string& nonce);

/// Adds to the info what `dtrain-worker --info=json` reports about the machine.
/// @throws Error if `json` is not such a report
NodeInfo with_machine_info(NodeInfo info, const std::string& json);

}  // namespace dtrain::launch
