// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/operation_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dtrain::trace {
namespace {

std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// A process may have several logs: of two libraries, or of the program that it was before exec.
std::string path_of_log(const std::string& folder, int number) {
    const auto pid = std::to_string(::getpid());
    return folder + "/" + (number == 1 ? pid : pid + "-" + std::to_string(number)) + operation_log_suffix;
}

OperationLogFile* map_new_file(const std::string& folder) {
    constexpr int max_logs = 9;
    std::string path;
    int file = -1;
    for (int number = 1; file < 0 && number <= max_logs; ++number) {
        path = path_of_log(folder, number);
        file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST) return nullptr;
    }
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    // Without room, a later write would be SIGBUS.
    if (::posix_fallocate(file, 0, sizeof(OperationLogFile)) == 0)
        memory = ::mmap(nullptr, sizeof(OperationLogFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) {
        ::unlink(path.c_str());
        return nullptr;
    }
    auto* const log = static_cast<OperationLogFile*>(memory);  // zeros are a valid one
    log->pid = ::getpid();
    log->texts_used.store(1);  // 0 is none
    std::atomic_thread_fence(std::memory_order_release);
    log->magic = log_magic;
    return log;
}

/// What a thread waits for may be the oldest of all.
bool is_waited_for(const LogEntry& entry) {
    return entry.wait_ns.load(std::memory_order_relaxed) != 0 &&
           entry.paused_ns.load(std::memory_order_relaxed) == 0 &&
           entry.end_ns.load(std::memory_order_relaxed) <= 0;
}

}  // namespace

OperationLog* OperationLog::of_this_process() {
    // Never destroyed: threads of the program may still communicate while the process ends.
    static std::atomic<OperationLog*> log{nullptr};
    static std::atomic<pid_t> owner{0};
    static std::mutex mutex;
    if (owner.load(std::memory_order_acquire) == ::getpid()) return log.load();
    const std::lock_guard lock(mutex);
    if (owner.load() == ::getpid()) return log.load();
    const char* folder = std::getenv(operation_log_variable);
    auto* const fresh = folder == nullptr || *folder == '\0' ? nullptr : new OperationLog(folder);
    log.store(fresh != nullptr && fresh->is_open() ? fresh : nullptr);
    owner.store(::getpid(), std::memory_order_release);
    return log.load();
}

OperationLog::OperationLog(const std::string& folder) : file_(map_new_file(folder)) {}

OperationLog::~OperationLog() {
    if (file_ != nullptr) ::munmap(file_, sizeof(OperationLogFile));
}

std::uint16_t OperationLog::text(std::string_view text) {
    if (text.empty()) return 0;
    const std::lock_guard lock(mutex_);
    const std::string cut(text.substr(0, log_text_bytes - 1));
    if (const auto known = texts_.find(cut); known != texts_.end()) return known->second;
    const auto index = file_->texts_used.load(std::memory_order_relaxed);
    if (index >= log_texts) return 0;
    std::copy(cut.begin(), cut.end(), file_->texts[index].begin());
    file_->texts_used.store(index + 1, std::memory_order_release);
    return texts_[cut] = static_cast<std::uint16_t>(index);
}

std::uint16_t OperationLog::group(std::string_view name, int rank, int size, std::span<const int> job_ranks) {
    const auto named = text(name);
    const std::lock_guard lock(mutex_);
    const auto index = file_->groups_used.load(std::memory_order_relaxed);
    if (index >= log_groups) return log_groups - 1;  // one of too many: told apart by nobody
    auto& group = file_->groups[index];
    group = {.name = named, .rank = rank, .size = size, .first_member = -1};
    const auto first = file_->members_used.load(std::memory_order_relaxed);
    if (!job_ranks.empty() && first + job_ranks.size() <= log_members) {
        std::copy(job_ranks.begin(), job_ranks.end(), file_->members.begin() + first);
        group.first_member = static_cast<std::int32_t>(first);
        file_->members_used.store(first + static_cast<std::uint32_t>(job_ranks.size()));
    }
    file_->groups_used.store(index + 1, std::memory_order_release);
    return static_cast<std::uint16_t>(index);
}

void OperationLog::name_group(std::uint16_t group, std::string_view name) {
    const auto named = text(name);
    if (named != 0) file_->groups[group].name = named;
}

OperationLog::Ticket OperationLog::begin(const BegunOperation& operation) {
    auto ticket = file_->begun.fetch_add(1, std::memory_order_relaxed) + 1;
    for (std::size_t tries = 0; tries < log_entries && is_waited_for(file_->entries[ticket % log_entries]);
         ++tries)
        ticket = file_->begun.fetch_add(1, std::memory_order_relaxed) + 1;
    auto& entry = file_->entries[ticket % log_entries];
    entry.version.store(2 * ticket + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    entry.operation = operation;
    entry.begin_ns = now_ns();
    entry.wait_ns.store(0, std::memory_order_relaxed);
    entry.paused_ns.store(0, std::memory_order_relaxed);
    entry.end_ns.store(goes_on_mark(ticket), std::memory_order_relaxed);
    entry.version.store(2 * ticket, std::memory_order_release);
    return ticket;
}

bool OperationLog::waits(Ticket ticket) {
    auto* const entry = entry_of(ticket);
    if (entry == nullptr) return false;
    const auto now = now_ns();
    const auto paused = entry->paused_ns.exchange(0, std::memory_order_relaxed);
    const bool is_slice =
        entry->wait_ns.load(std::memory_order_relaxed) != 0 && now - paused < short_pause_ns;
    if (!is_slice) entry->wait_ns.store(now, std::memory_order_relaxed);
    return true;
}

void OperationLog::goes_on(Ticket ticket) {
    if (auto* const entry = entry_of(ticket)) entry->paused_ns.store(now_ns(), std::memory_order_relaxed);
}

void OperationLog::end(Ticket ticket) {
    if (ticket == 0) return;
    if (auto* const entry = entry_of(ticket)) {
        auto found = goes_on_mark(ticket);
        const bool ends_now =
            entry->end_ns.compare_exchange_strong(found, now_ns(), std::memory_order_relaxed);
        // Otherwise it has ended already, or a later operation has just taken its place.
        if (!ends_now && found > 0 && entry_of(ticket) != nullptr) return;
    }
    file_->completed.fetch_add(1, std::memory_order_relaxed);
}

/// None if later operations have taken its place.
LogEntry* OperationLog::entry_of(Ticket ticket) const {
    if (ticket == 0) return nullptr;
    auto& entry = file_->entries[ticket % log_entries];
    return entry.version.load(std::memory_order_relaxed) == 2 * ticket ? &entry : nullptr;
}

}  // namespace dtrain::trace
