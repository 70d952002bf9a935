// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/logged_calls.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>

namespace dtrain::tests {
namespace {

using trace::OperationLogFile;

std::string text_of(const OperationLogFile& log, std::size_t index) {
    return index == 0 ? "" : std::string(log.texts.at(index).data());
}

LoggedGroup group_of(const OperationLogFile& log, const trace::LogGroup& group) {
    LoggedGroup out{.name = text_of(log, group.name),
                    .rank = group.rank,
                    .job_ranks = std::vector<int>(static_cast<std::size_t>(group.size))};
    if (group.first_member < 0)
        std::iota(out.job_ranks.begin(), out.job_ranks.end(), 0);
    else
        std::copy_n(log.members.begin() + group.first_member, group.size, out.job_ranks.begin());
    return out;
}

LoggedRank rank_in(const OperationLogFile& log) {
    LoggedRank rank{.completed = log.completed.load()};
    for (std::size_t index = 0; index < log.groups_used; ++index)
        rank.groups.push_back(group_of(log, log.groups[index]));
    std::vector<const trace::LogEntry*> entries;
    for (const auto& entry : log.entries)
        if (entry.version != 0) entries.push_back(&entry);
    std::ranges::sort(entries, {}, [](const auto* entry) { return entry->version.load(); });
    for (const auto* entry : entries)
        rank.calls.push_back({.name = text_of(log, entry->operation.name),
                              .kind = entry->operation.kind,
                              .group = rank.groups.at(entry->operation.group).name,
                              .number = entry->operation.number,
                              .type = text_of(log, entry->operation.type),
                              .reduction = text_of(log, entry->operation.reduction),
                              .source = text_of(log, entry->operation.source),
                              .count = entry->operation.count,
                              .peer = entry->operation.peer,
                              .tag = entry->operation.tag,
                              .waits = entry->end_ns <= 0 && entry->wait_ns != 0,
                              .has_ended = entry->end_ns > 0,
                              .nanoseconds = entry->end_ns - entry->begin_ns});
    return rank;
}

}  // namespace

std::string LoggedCall::text() const {
    auto out = name;
    if (number != 0) out += " " + std::to_string(number);
    out += " of " + group;
    const char* separator = ": ";
    const auto add = [&](const std::string& part) {
        out += separator + part;
        separator = ", ";
    };
    if (!type.empty()) add(type + " x " + (count == trace::unknown_count ? "?" : std::to_string(count)));
    if (!reduction.empty()) add(reduction);
    switch (kind) {
        case trace::OperationKind::send:
            add("to " + std::to_string(peer));
            break;
        case trace::OperationKind::receive:
            add("from " + std::to_string(peer));
            break;
        case trace::OperationKind::receive_any:
            add("from any");
            break;
        case trace::OperationKind::collective:
            if (peer >= 0) add("root " + std::to_string(peer));
            break;
        case trace::OperationKind::other:
        case trace::OperationKind::own_gpu:
            if (peer >= 0) add("rank " + std::to_string(peer));
            break;
    }
    if (tag != 0) add("tag " + std::to_string(tag));
    return out;
}

std::vector<std::string> LoggedRank::texts() const {
    std::vector<std::string> out;
    for (const auto& call : calls) out.push_back(call.text());
    return out;
}

std::map<int, LoggedRank> logged_ranks(const std::filesystem::path& folder) {
    std::map<int, LoggedRank> ranks;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != trace::operation_log_suffix) continue;
        const auto log = std::make_unique<OperationLogFile>();
        std::ifstream file(entry.path(), std::ios::binary);
        file.read(reinterpret_cast<char*>(log.get()), sizeof(OperationLogFile));
        if (!file || log->magic != trace::log_magic) continue;
        auto rank = rank_in(*log);
        const int number = rank.groups.at(0).rank;
        ranks.emplace(number, std::move(rank));
    }
    return ranks;
}

}  // namespace dtrain::tests
