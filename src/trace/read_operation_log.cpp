// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/read_operation_log.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "base/paths_in.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "trace/recent_operations.hpp"
#include "trace/reported_members.hpp"

namespace dtrain::trace {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A file that another process writes, mapped for reading.
class MappedLog {
  public:
    explicit MappedLog(const fs::path& path) {
        const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat info {};
        if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
            static_cast<std::size_t>(info.st_size) < sizeof(OperationLogFile))
            return;
        void* const memory = ::mmap(nullptr, sizeof(OperationLogFile), PROT_READ, MAP_SHARED, file.get(), 0);
        if (memory == MAP_FAILED) return;
        log_ = static_cast<const OperationLogFile*>(memory);
        if (log_->magic != log_magic) unmap();
    }
    MappedLog(const MappedLog&) = delete;
    MappedLog& operator=(const MappedLog&) = delete;
    ~MappedLog() { unmap(); }

    const OperationLogFile* get() const { return log_; }

  private:
    void unmap() {
        if (log_ != nullptr) ::munmap(const_cast<OperationLogFile*>(log_), sizeof(OperationLogFile));
        log_ = nullptr;
    }

    const OperationLogFile* log_ = nullptr;
};

/// An entry's fields, copied while nobody wrote them.
struct EntryCopy {
    std::uint64_t ticket = 0;
    BegunOperation operation;
    std::int64_t begin_ns = 0;
    std::int64_t wait_ns = 0;
    std::int64_t paused_ns = 0;
    std::int64_t end_ns = 0;

    bool goes_on() const { return end_ns <= 0; }

    /// A thread waits for it, or will again at once.
    bool is_waited_for(nanoseconds now) const {
        return goes_on() && wait_ns != 0 && (paused_ns == 0 || now.count() - paused_ns < short_pause_ns);
    }
};

std::optional<EntryCopy> copy_of(const LogEntry& entry) {
    const auto version = entry.version.load(std::memory_order_acquire);
    if (version == 0 || version % 2 == 1) return std::nullopt;
    const EntryCopy copy{.ticket = version / 2,
                         .operation = entry.operation,
                         .begin_ns = entry.begin_ns,
                         .wait_ns = entry.wait_ns.load(std::memory_order_relaxed),
                         .paused_ns = entry.paused_ns.load(std::memory_order_relaxed),
                         .end_ns = entry.end_ns.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry.version.load(std::memory_order_relaxed) != version) return std::nullopt;
    return copy;
}

std::vector<EntryCopy> entries_of(const OperationLogFile& log) {
    std::vector<EntryCopy> entries;
    for (const auto& entry : log.entries)
        if (const auto copy = copy_of(entry)) entries.push_back(*copy);
    std::ranges::sort(entries, {}, &EntryCopy::ticket);
    return entries;
}

std::string text_of(const OperationLogFile& log, std::size_t index) {
    if (index == 0 || index >= std::min<std::size_t>(log.texts_used.load(), log_texts)) return {};
    const auto& text = log.texts[index];
    return {text.data(), ::strnlen(text.data(), text.size())};
}

/// Of a group that the file has.
struct GroupInfo {
    Group group;
    bool has_members = false;  ///< a rank of the group is not its number in the job
    std::int32_t first_member = -1;
};

/// The ranks of the job that are in a group; empty: they are not in the file.
std::span<const std::int32_t> members_of(const OperationLogFile& log, const LogGroup& group) {
    if (group.first_member < 0 || group.size < 0) return {};
    const auto first = static_cast<std::size_t>(group.first_member);
    const auto size = static_cast<std::size_t>(group.size);
    if (first > log_members || size > log_members - first) return {};
    return std::span(log.members).subspan(first, size);
}

std::vector<GroupInfo> groups_of(const OperationLogFile& log) {
    std::vector<GroupInfo> groups;
    const auto used = std::min<std::size_t>(log.groups_used.load(std::memory_order_acquire), log_groups);
    for (std::size_t index = 0; index < used; ++index) {
        const auto& from = log.groups[index];
        GroupInfo info{.group = {.name = text_of(log, from.name), .size = from.size},
                       .first_member = from.first_member};
        const auto members = members_of(log, from);
        info.has_members = !members.empty();
        info.group.members = reported_members(members);
        groups.push_back(std::move(info));
    }
    return groups;
}

int job_rank(const OperationLogFile& log, const GroupInfo& group, int rank) {
    if (rank < 0 || rank >= group.group.size || !group.has_members) return rank;
    return log.members[static_cast<std::size_t>(group.first_member) + static_cast<std::size_t>(rank)];
}

Operation operation_of(const OperationLogFile& log, const EntryCopy& entry,
                       const std::vector<GroupInfo>& groups, nanoseconds now) {
    const auto& begun = entry.operation;
    Operation out{.kind = begun.kind,
                  .number = begun.number,
                  .name = text_of(log, begun.name),
                  .type = text_of(log, begun.type),
                  .reduction = text_of(log, begun.reduction),
                  .source = text_of(log, begun.source),
                  .peer = begun.peer,
                  .tag = begun.tag,
                  .has_ended = !entry.goes_on()};
    if (begun.count != unknown_count) out.count = begun.count;
    if (begun.group < groups.size()) {
        out.group = groups[begun.group].group.name;
        out.peer = job_rank(log, groups[begun.group], begun.peer);
    }
    if (entry.is_waited_for(now))
        out.waited = std::chrono::duration_cast<milliseconds>(now - nanoseconds(entry.wait_ns));
    return out;
}

std::vector<EntryCopy> worth_reporting(const std::vector<EntryCopy>& entries, nanoseconds now) {
    RecentOperations<std::uint16_t> recent;
    std::vector<EntryCopy> out;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
        if (recent.wants(entry->operation.group, entry->operation.kind, entry->goes_on(),
                         entry->is_waited_for(now)))
            out.push_back(*entry);
    std::ranges::reverse(out);
    return out;
}

bool runs(int pid) {
    const auto stat = stat_of(pid);
    return stat && !stat->ended;
}

std::vector<fs::path> log_files(const fs::path& folder, bool of_running) {
    std::vector<fs::path> files;
    for (const auto& path : paths_in(folder)) {
        if (path.extension() != operation_log_suffix) continue;
        const auto stem = path.stem().string();
        const auto pid = parse_int(stem.substr(0, stem.find('-')));
        if (pid && (!of_running || runs(*pid))) files.push_back(path);
    }
    std::ranges::sort(files);
    return files;
}

}  // namespace

std::optional<ProcessOperations> read_operation_log(const fs::path& file, nanoseconds now) {
    const MappedLog mapped(file);
    if (mapped.get() == nullptr) return std::nullopt;
    const auto& log = *mapped.get();
    const auto entries = entries_of(log);
    auto groups = groups_of(log);
    for (const auto& entry : entries)
        if (const auto& begun = entry.operation;
            begun.kind == OperationKind::collective && begun.group < groups.size()) {
            auto& last = groups[begun.group].group.last_number;
            last = std::max(last, begun.number);
        }
    ProcessOperations out{.pid = log.pid, .completed = log.completed.load()};
    for (const auto& entry : worth_reporting(entries, now))
        out.operations.push_back(operation_of(log, entry, groups, now));
    for (auto& info : groups) out.groups.push_back(std::move(info.group));
    return out;
}

std::vector<TimedOperation> operations_in_log(const fs::path& file, nanoseconds now) {
    const MappedLog mapped(file);
    if (mapped.get() == nullptr) return {};
    const auto groups = groups_of(*mapped.get());
    std::vector<TimedOperation> out;
    for (const auto& entry : entries_of(*mapped.get())) {
        TimedOperation operation{.operation = operation_of(*mapped.get(), entry, groups, now),
                                 .age = now - nanoseconds(entry.begin_ns)};
        if (!entry.goes_on()) operation.took = nanoseconds(entry.end_ns - entry.begin_ns);
        out.push_back(std::move(operation));
    }
    return out;
}

std::vector<fs::path> operation_logs_of(const fs::path& folder) {
    auto files = log_files(folder, true);
    return files.empty() ? log_files(folder, false) : files;
}

OperationProgress operation_progress(const fs::path& folder, nanoseconds now) {
    OperationProgress out;
    for (const auto& file : log_files(folder, true)) {
        const MappedLog mapped(file);
        if (mapped.get() == nullptr) continue;
        out.any = true;
        out.completed += mapped.get()->completed.load();
        for (const auto& entry : mapped.get()->entries) {
            const auto copy = copy_of(entry);
            if (!copy || !copy->is_waited_for(now)) continue;
            const auto waited = std::chrono::duration_cast<milliseconds>(now - nanoseconds(copy->wait_ns));
            out.waited = std::max(out.waited.value_or(milliseconds(0)), waited);
        }
    }
    return out;
}

std::vector<ProcessOperations> read_operation_logs(const fs::path& folder, nanoseconds now) {
    std::vector<ProcessOperations> out;
    for (const auto& file : operation_logs_of(folder))
        if (auto operations = read_operation_log(file, now)) out.push_back(std::move(*operations));
    return out;
}

}  // namespace dtrain::trace
