// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_diagnosis.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/gpu_software.hpp"
#include "base/oom_watch.hpp"

namespace dtrain::launch {
namespace {

constexpr std::uint64_t mib = 1024 * 1024;
constexpr std::uint64_t min_shm = 128 * mib;  // Docker's default of 64 MiB is too small for NCCL and data
                                              // loaders
constexpr std::uint64_t usual_shm = 1024 * mib;
constexpr std::uint64_t min_files = 1024;
constexpr std::uint64_t files_of_program = 256;  // in addition to a few for every other rank
constexpr std::int64_t clock_fault_us = 1'000'000;
constexpr std::int64_t clock_warning_us = 100'000;

std::string node_name(const std::vector<CheckedNode>& nodes, int number) {
    return fmt::format("node {} ({})", number, nodes[static_cast<std::size_t>(number)].host);
}

const ProbeResult* probe_between(const std::vector<CheckedNode>& nodes, int from, int to) {
    for (const auto& probe : nodes[static_cast<std::size_t>(from)].probes)
        if (probe.to == to) return &probe;
    return nullptr;
}

std::string size_text(std::uint64_t bytes) {
    return bytes_text(static_cast<std::int64_t>(bytes));
}

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

class Diagnosis {
  public:
    Diagnosis(const std::vector<CheckedNode>& nodes, const CheckWants& wants)
        : nodes_(nodes), wants_(wants) {}

    std::vector<Finding> findings() {
        for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
            const auto& each = nodes_[static_cast<std::size_t>(node)];
            if (each.issue) add(Severity::fault, node, each.issue->text, each.issue->remedy);
            if (each.info) diagnose_node(node, *each.info);
        }
        diagnose_differences();
        diagnose_connections();
        diagnose_clocks();
        std::stable_sort(findings_.begin(), findings_.end(),
                         [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
        return std::move(findings_);
    }

  private:
    void add(Severity severity, int node, const std::string& text, const std::string& remedy) {
        const auto same = std::find_if(findings_.begin(), findings_.end(), [&](const Finding& each) {
            return each.severity == severity && each.text == text && each.remedy == remedy;
        });
        auto& finding = same != findings_.end() ? *same : findings_.emplace_back();
        finding.severity = severity;
        finding.nodes.add(node);
        finding.text = text;
        finding.remedy = remedy;
    }

    void diagnose_node(int node, const NodeInfo& info) {
        const auto fault = [&](const std::string& text, const std::string& remedy) {
            add(Severity::fault, node, text, remedy);
        };
        if (!info.worker_error.empty())
            fault("dtrain-worker does not run there: " + info.worker_error,
                  "run dtrain-worker --info there and install what it misses (docs/packages.md)");
        if (wants_.mpirun && nodes_.size() > 1 && info.mpirun.empty())
            fault("no mpirun in PATH of a command that comes over the network",
                  "install Open MPI there, or set its PATH where shells without a terminal read it "
                  "(~/.bashrc, before "
                  "it returns)");
        if (!info.gpu_error.empty())
            fault("CUDA_VISIBLE_DEVICES cannot be used: " + info.gpu_error,
                  "correct it where it is set on that node");
        diagnose_gpus(node, info);
        diagnose_shared_memory(node, info);
        if (info.rdma && info.memlock != unlimited)
            fault(fmt::format("memlock is {}, but RDMA wants to lock what it sends", size_text(info.memlock)),
                  "\"* - memlock unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, "
                  "--ulimit "
                  "memlock=-1 for a container; then log in anew");
        diagnose_open_files(node, info);
        const auto& checked = nodes_[static_cast<std::size_t>(node)];
        if (!info.log_dir_error.empty())
            fault(fmt::format("logs cannot be written into {}: {}", checked.log_dir, info.log_dir_error),
                  "name a folder that can be written on every node with --log_dir");
        if (!info.working_dir_error.empty())
            fault(
                fmt::format("the folder {} of this command: {}", checked.working_dir, info.working_dir_error),
                "share it with all nodes, or start from a folder that all have");
    }

    void diagnose_gpus(int node, const NodeInfo& info) {
        const GpuSoftware software{.driver = info.gpu_driver,
                                   .cuda_driver = info.cuda_driver,
                                   .cuda_runtime = info.cuda_runtime,
                                   .nccl = info.nccl,
                                   .nccl_built = info.nccl_built,
                                   .nccl_needed = info.nccl_needed,
                                   .nccl_cuda = info.nccl_cuda};
        for (const auto& [is_fault, text, remedy] : issues_of(software))
            add(is_fault ? Severity::fault : Severity::warning, node, text, remedy);
        for (const auto& [gpu, pci, is_fault, text, remedy] : info.gpu_issues)
            add(is_fault ? Severity::fault : Severity::warning, node,
                fmt::format("GPU {}: {}", pci.empty() ? std::to_string(gpu) : pci, text), remedy);
    }

    void diagnose_shared_memory(int node, const NodeInfo& info) {
        const auto of = fmt::format("{} of {}", size_text(info.shm_free), size_text(info.shm_bytes));
        if (info.shm_bytes < min_shm)
            add(Severity::fault, node,
                info.shm_bytes == 0 ? "there is no /dev/shm"
                                    : fmt::format("/dev/shm has only {}", size_text(info.shm_bytes)),
                "mount -o remount,size=50% /dev/shm; --shm-size=8g for a container");
        else if (info.shm_free < min_shm)
            add(Severity::fault, node, fmt::format("/dev/shm is full: {} are free", of),
                "remove what earlier jobs left in /dev/shm");
        else if (info.shm_bytes < usual_shm)
            add(Severity::warning, node, fmt::format("/dev/shm has only {}", size_text(info.shm_bytes)),
                "programs with many data loaders want more: mount -o remount,size=50% /dev/shm; "
                "--shm-size=8g for a container");
    }

    void diagnose_open_files(int node, const NodeInfo& info) {
        const auto ranks = static_cast<std::uint64_t>(wants_.ranks_of_node) * nodes_.size();
        const auto wanted = std::max(min_files, files_of_program + 2 * ranks);
        if (info.open_files < wanted)
            add(Severity::fault, node,
                fmt::format("a process may have {} files open; {} ranks want {}", info.open_files, ranks,
                            wanted),
                "\"* - nofile 1048576\" in /etc/security/limits.conf, LimitNOFILE= for sshd or slurmd; then "
                "log in anew");
    }

    /// @param of a node's value, for people; nothing if the node has none to compare
    void must_be_alike(Severity severity, const char* what,
                       const std::function<std::optional<std::string>(const NodeInfo&)>& of,
                       const std::string& remedy) {
        std::map<int, std::string> values;
        std::map<std::string, int> counts;
        for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
            const auto& info = nodes_[static_cast<std::size_t>(node)].info;
            const auto value = info ? of(*info) : std::nullopt;
            if (!value) continue;
            values[node] = *value;
            ++counts[*value];
        }
        if (counts.size() < 2) return;
        auto usual = values.begin();  // of equally frequent values, that of the first node
        for (auto each = values.begin(); each != values.end(); ++each)
            if (counts[each->second] > counts[usual->second]) usual = each;
        for (const auto& [node, value] : values)
            if (value != usual->second)
                add(severity, node,
                    fmt::format("{}: {}, but {} on {} of {} nodes", what, value, usual->second,
                                counts[usual->second], values.size()),
                    remedy);
    }

    void diagnose_differences() {
        must_be_alike(
            Severity::fault, "dtrain", [](const auto& info) { return info.dtrain; },
            "install the same dtrain on all nodes");
        const auto of_worker = [](auto value) {
            return [value](const NodeInfo& info) -> std::optional<std::string> {
                if (!info.worker_error.empty()) return std::nullopt;  // already reported
                return value(info);
            };
        };
        must_be_alike(Severity::fault, "MPI", of_worker([](const auto& info) { return or_none(info.mpi); }),
                      "install the same MPI on all nodes, or put it first in PATH and LD_LIBRARY_PATH");
        if (wants_.mpirun)
            must_be_alike(
                Severity::fault, "mpirun in PATH",
                [](const NodeInfo& info) -> std::optional<std::string> {
                    if (info.mpirun.empty()) return std::nullopt;
                    return info.mpirun;
                },
                "put the same Open MPI first in PATH on all nodes");
        must_be_alike(Severity::fault, "NCCL", of_worker([](const auto& info) { return or_none(info.nccl); }),
                      "install the same NCCL on all nodes: it refuses a job with several versions");
        must_be_alike(Severity::fault, "GPUs",
                      of_worker([](const auto& info) { return std::to_string(info.gpus); }),
                      "choose as many on each node with --gpus or CUDA_VISIBLE_DEVICES; nvidia-smi shows "
                      "what the driver "
                      "has");
        must_be_alike(Severity::warning, "GPU model",
                      of_worker([](const auto& info) { return or_none(info.gpu_models); }),
                      "the slowest GPUs will hold the others up");
    }

    void diagnose_connections() {
        for (int from = 0; from < static_cast<int>(nodes_.size()); ++from)
            for (const auto& probe : nodes_[static_cast<std::size_t>(from)].probes) {
                if (probe.error.empty()) continue;
                const auto* back = probe_between(nodes_, probe.to, from);
                const bool one_way = back != nullptr && back->error.empty();
                add(Severity::fault, from,
                    fmt::format("cannot connect to {}: {}{}", node_name(nodes_, probe.to), probe.error,
                                one_way ? " (the other direction works)" : ""),
                    "let the nodes' firewalls pass all TCP ports between nodes, and look at `ip route get` "
                    "on both "
                    "sides; names must mean the same addresses everywhere");
            }
    }

    void diagnose_clocks() {
        const auto clocks = clocks_ahead(nodes_);
        for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
            const auto ahead = clocks[static_cast<std::size_t>(node)].value_or(0);
            if (std::abs(ahead) < clock_warning_us) continue;
            const auto tenths = std::abs(ahead) / 100'000;
            add(std::abs(ahead) < clock_fault_us ? Severity::warning : Severity::fault, node,
                fmt::format("its clock is {} s {}", static_cast<double>(tenths) / 10,
                            ahead > 0 ? "fast" : "slow"),
                "let chrony or systemd-timesyncd set it (timedatectl set-ntp true); until then reports may "
                "take "
                "another rank for the one that failed first");
        }
    }

    const std::vector<CheckedNode>& nodes_;
    const CheckWants& wants_;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> diagnose(const std::vector<CheckedNode>& nodes, const CheckWants& wants) {
    return Diagnosis(nodes, wants).findings();
}

std::vector<std::optional<std::int64_t>> clocks_ahead(const std::vector<CheckedNode>& nodes) {
    std::vector<std::optional<std::int64_t>> out(nodes.size());
    const auto first =
        std::find_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.info.has_value(); });
    if (first == nodes.end()) return out;
    const auto centre = static_cast<int>(first - nodes.begin());
    std::vector<std::int64_t> known;
    for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
        auto& ahead = out[static_cast<std::size_t>(node)];
        const auto* from_centre = probe_between(nodes, centre, node);
        const auto* back = probe_between(nodes, node, centre);
        if (node == centre)
            ahead = 0;
        else if (from_centre != nullptr && from_centre->error.empty())
            ahead = from_centre->other_ahead_us;
        else if (back != nullptr && back->error.empty())
            ahead = -back->other_ahead_us;
        if (ahead) known.push_back(*ahead);
    }
    if (known.size() < 2) return std::vector<std::optional<std::int64_t>>(nodes.size());
    if (known.size() == 2) return out;  // either clock may be right; the first node's is the reference
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
    std::nth_element(known.begin(), middle, known.end());
    const auto median = *middle;
    for (auto& ahead : out)
        if (ahead) *ahead -= median;
    return out;
}

}  // namespace dtrain::launch
