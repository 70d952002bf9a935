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

/// What dtrain-launch --check and the program that it runs on each node (dtrain-check) tell each other: one
/// JSON object a line. Pure.
namespace dtrain::launch {

/// A limit that is none, as setrlimit has it.
inline constexpr std::uint64_t unlimited = UINT64_MAX;

/// What a node is asked first.
struct CheckTask {
    std::string nonce;  ///< known to the nodes of this check only
    std::string log_dir;
    std::string working_dir;
    std::map<std::string, std::string> variables;  ///< that a job would bring along
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

/// Of one of a node's GPUs, by its driver.
struct GpuIssue {
    int gpu = 0;            ///< index on its node
    std::string pci;        ///< in its place, where the node does not number it
    bool is_fault = false;  ///< else a warning
    std::string text;
    std::string remedy;
    friend bool operator==(const GpuIssue&, const GpuIssue&) = default;
};

/// What a node tells of itself; "" is nothing.
struct NodeInfo {
    int port = 0;  ///< where it listens
    std::string host_name;
    std::string dtrain;  ///< version
    std::string mpi;     ///< that dtrain runs with: "Open MPI 4.1.4"
    std::string mpirun;  ///< in the PATH of a command on this node: "4.1"
    std::string nccl;
    std::string cuda_runtime;  ///< that dtrain was built with: "13.0"
    std::string cuda_driver;   ///< newest CUDA that the driver supports
    std::string gpu_driver;    ///< and these as in GpuSoftware
    std::string nccl_built;
    std::string nccl_needed;
    std::string nccl_cuda;
    int gpus = 0;                      ///< that programs see
    std::string gpu_models;            ///< each once
    std::string gpu_error;             ///< why CUDA_VISIBLE_DEVICES cannot be used
    std::vector<GpuIssue> gpu_issues;  ///< of those that programs see
    bool rdma = false;                 ///< it has an adapter that wants locked memory
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
    std::string error;               ///< "" when it was made
    std::int64_t round_trip_us = 0;  ///< the shortest of several
    std::int64_t other_ahead_us =
        0;  ///< the other node's clock against this one's, half a round trip off at most
    friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

using FromChecked = std::variant<NodeInfo, ProbeResult>;

/// One line, without its end.
std::string to_line(const ToChecked& message);
std::string to_line(const FromChecked& message, const std::string& nonce);

/// @throws Error for what is no such line
ToChecked parse_to_checked(std::string_view line);

/// Nothing for a line that others wrote, such as a login script.
std::optional<FromChecked> parse_from_checked(std::string_view line, const std::string& nonce);

/// The info with what `dtrain-worker --info=json` says of the machine.
/// @throws Error when that is no such report
NodeInfo with_machine_info(NodeInfo info, const std::string& json);

}  // namespace dtrain::launch
