// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/gpu_issues.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/oom_watch.hpp"
#include "base/text.hpp"

namespace dtrain::topology {
namespace {

std::string text_of(GpuSlowdown slowdown, const GpuHealth& health) {
    switch (slowdown) {
        case GpuSlowdown::hot:
            return health.celsius
                       ? fmt::format("slowed down by its heat, {} degrees Celsius", *health.celsius)
                       : "slowed down by its heat";
        case GpuSlowdown::power_brake:
            return "slowed down by the power brake of its machine";
        case GpuSlowdown::power_cap:
            return "slowed down by its power limit";
        case GpuSlowdown::hardware:
            return "slowed down by its hardware";
    }
    return "";
}

std::vector<Xid> last_of_each_number(const std::vector<Xid>& xids) {
    std::map<int, Xid> last;
    for (const auto& xid : xids) last[xid.number] = xid;
    std::vector<Xid> out;
    for (auto& [number, xid] : last) out.push_back(std::move(xid));
    return out;
}

std::string remedy_of(GpuSlowdown slowdown) {
    return slowdown == GpuSlowdown::hot ? "look after fans and air of that machine"
                                        : "look after the power supply of that machine";
}

}  // namespace

std::vector<GpuIssue> issues_of(const GpuHealth& health) {
    const auto reset =
        fmt::format("reset it (nvidia-smi --gpu-reset -i {}) or reboot", health.pci.to_string());
    std::vector<GpuIssue> out;
    if (health.row_failed)
        out.push_back({true, "a broken row of its memory could not be replaced",
                       "take it out of service; it has to be exchanged"});
    if (health.uncorrected_errors.value_or(0) > 0)
        out.push_back({true,
                       fmt::format("{} of its memory that could not be corrected since the driver was loaded",
                                   counted(static_cast<std::int64_t>(*health.uncorrected_errors), "error")),
                       reset + "; exchange it when they come back"});
    for (const auto& xid : last_of_each_number(health.xids))
        if (!is_of_program(xid))
            out.push_back({false, "the kernel has logged " + without_gpu(xid),
                           "unless that was done since then, " + reset});
    if (health.row_pending) out.push_back({false, "a broken row of its memory waits to be replaced", reset});
    for (const auto slowdown : health.slowdowns)
        // A GPU with work normally runs at its power limit.
        if (slowdown != GpuSlowdown::power_cap || health.processes.empty())
            out.push_back({false, text_of(slowdown, health), remedy_of(slowdown)});
    for (const auto& [pid, memory] : health.processes)
        out.push_back({false,
                       fmt::format("process {} computes on it{}", pid,
                                   memory ? fmt::format(" and has {} of its memory",
                                                        bytes_text(static_cast<std::int64_t>(*memory)))
                                          : ""),
                       fmt::format("end it, or take another GPU: ps -o user,etime,args -p {}", pid)});
    return out;
}

}  // namespace dtrain::topology
