// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/pids_watch.hpp"

#include <fmt/format.h>

#include "base/files.hpp"

namespace dtrain {
namespace {

constexpr const char* counters = "pids.events";
constexpr const char* limit_name = "pids.max";

}  // namespace

PidsWatch::PidsWatch(const PidsSources& sources)
    : cgroup_(cgroup_in(sources.cgroups, read_file(sources.membership).value_or(""), "pids",
                        [](int) { return counters; })),
      before_(refused()) {}

std::optional<std::string> PidsWatch::reached_since() const {
    const auto times = refused() - before_;
    if (times <= 0) return std::nullopt;
    const auto limit = lowest_limit(*cgroup_, limit_name);
    return fmt::format("the limit of processes and threads of cgroup {}{} was reached {} time{}",
                       cgroup_->name(), limit ? fmt::format(" ({} {})", limit_name, *limit) : "", times,
                       times == 1 ? "" : "s");
}

std::int64_t PidsWatch::refused() const {
    std::int64_t sum = 0;
    if (cgroup_)
        for (const auto& folder : cgroup_->up_to_root())
            sum += number_after(folder / counters, "max").value_or(0);
    return sum;
}

}  // namespace dtrain
