// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/oom_watch.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

using Row = std::vector<std::string>;

const Row heading{"node",     "address",    "host",  "through",  "dtrain",  "MPI",   "NCCL", "GPUs",
                  "connects", "round trip", "clock", "/dev/shm", "memlock", "files", "logs"};

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string in_milliseconds(std::int64_t microseconds) {
    return fmt::format("{:.2f} ms", static_cast<double>(microseconds) / 1000);
}

std::string bytes_or_unlimited(std::uint64_t bytes) {
    return bytes == unlimited ? "unlimited" : bytes_text(static_cast<std::int64_t>(bytes));
}

/// "2/3": how many of the others it could connect to.
std::string connections(const CheckedNode& node) {
    const auto made = std::count_if(node.probes.begin(), node.probes.end(),
                                    [](const ProbeResult& probe) { return probe.error.empty(); });
    return node.probes.empty() ? "-" : fmt::format("{}/{}", made, node.probes.size());
}

std::string max_round_trip(const CheckedNode& node) {
    std::int64_t max = -1;
    for (const auto& probe : node.probes)
        if (probe.error.empty()) max = std::max(max, probe.round_trip_us);
    return max < 0 ? "-" : in_milliseconds(max);
}

std::string clock_text(std::optional<std::int64_t> ahead_us) {
    if (!ahead_us) return "-";
    return fmt::format("{:+.1f} ms", static_cast<double>(*ahead_us) / 1000);
}

Row row_of(int number, const CheckedNode& node, std::optional<std::int64_t> clock_ahead_us) {
    Row row{std::to_string(number), node.host};
    if (!node.info) {
        row.resize(heading.size(), "-");
        row[3] = node.way + ": no";
        return row;
    }
    const auto& info = *node.info;
    row.insert(row.end(), {info.host_name, node.way, info.dtrain, or_dash(info.mpi), or_dash(info.nccl),
                           info.worker_error.empty() ? std::to_string(info.gpus) : "-", connections(node),
                           max_round_trip(node), clock_text(clock_ahead_us),
                           bytes_or_unlimited(info.shm_bytes), bytes_or_unlimited(info.memlock),
                           info.open_files == unlimited ? "unlimited" : std::to_string(info.open_files),
                           info.log_dir_error.empty() ? "ok" : "no"});
    return row;
}

/// "node 2 (10.0.0.3)", "nodes 1-3,7".
std::string names_of(const CpuSet& numbers, const std::vector<CheckedNode>& nodes) {
    if (numbers.count() > 1) return "nodes " + numbers.to_string();
    const int number = numbers.members().front();
    return fmt::format("node {} ({})", number, nodes[static_cast<std::size_t>(number)].host);
}

}  // namespace

std::string check_text(const std::vector<CheckedNode>& nodes, const std::vector<Finding>& findings) {
    const auto clocks = clocks_ahead(nodes);
    std::vector<Row> rows{heading};
    for (std::size_t node = 0; node < nodes.size(); ++node)
        rows.push_back(row_of(static_cast<int>(node), nodes[node], clocks[node]));
    auto out = join(aligned(rows), "\n") + "\n\n";
    std::ptrdiff_t faults = 0;
    for (const auto& finding : findings) {
        const bool is_fault = finding.severity == Severity::fault;
        faults += is_fault ? 1 : 0;
        out += fmt::format("{}: {}: {}\n    remedy: {}\n", is_fault ? "fault" : "warning",
                           names_of(finding.nodes, nodes), finding.text, finding.remedy);
    }
    const auto warnings = std::ssize(findings) - faults;
    out += fmt::format("{} checked: {}{}\n", counted(std::ssize(nodes), "node"),
                       faults == 0 ? "no fault" : counted(faults, "fault"),
                       warnings == 0 ? "" : ", " + counted(warnings, "warning"));
    return out;
}

}  // namespace dtrain::launch
