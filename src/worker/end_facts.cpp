// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/end_facts.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <span>
#include <sys/statvfs.h>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::worker {

std::optional<SharedMemory> shared_memory() {
    struct statvfs info {};
    if (::statvfs("/dev/shm", &info) != 0) return std::nullopt;
    const auto block = static_cast<std::int64_t>(info.f_frsize);
    return SharedMemory{.bytes = static_cast<std::int64_t>(info.f_blocks) * block,
                        .free_bytes = static_cast<std::int64_t>(info.f_bavail) * block};
}

std::vector<std::string> xid_facts(const std::vector<topology::Xid>& xids) {
    constexpr std::size_t most = 3;
    std::vector<std::string> facts;
    for (const auto& xid : std::span(xids).first(std::min(xids.size(), most)))
        facts.push_back("the kernel logged " + topology::to_sentence(xid));
    return facts;
}

std::vector<std::string> new_xid_facts(std::vector<topology::Xid>& known,
                                       const std::vector<topology::Xid>& come) {
    const auto before = static_cast<std::ptrdiff_t>(xid_facts(known).size());
    known.insert(known.end(), come.begin(), come.end());
    auto facts = xid_facts(known);
    facts.erase(facts.begin(), facts.begin() + before);
    return facts;
}

std::string facts_of_end(const ExitStatus& ended, const std::optional<OomKills>& kills,
                         const std::vector<topology::Xid>& xids,
                         const std::optional<SharedMemory>& shared_memory) {
    // A shell tells the signal that ended its command as a status.
    const auto ended_by = [&](int signal) { return ended.shell_status() == 128 + signal; };
    std::vector<std::string> facts;
    if (kills && kills->count > 0)
        facts.push_back(kills->to_sentence());
    else if (kills && ended_by(SIGKILL))
        facts.emplace_back("the kernel's OOM killer did not do it, by its counters");
    std::ranges::move(xid_facts(xids), std::back_inserter(facts));
    if (shared_memory && ended_by(SIGBUS))
        facts.push_back(fmt::format("/dev/shm holds {}, {} of it free after the end",
                                    bytes_text(shared_memory->bytes), bytes_text(shared_memory->free_bytes)));
    return join(facts, "; ");
}

}  // namespace dtrain::worker
