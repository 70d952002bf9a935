// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/operation_log_format.hpp"

namespace dtrain::trace {

/// Writes the operations of this process into a file that stays readable when the process is killed. Depends
/// on nothing but the operating system, since it is loaded into programs of others, too. All functions may be
/// called from several threads, and none throws.
class OperationLog {
  public:
    /// Of an operation that was begun; 0: none.
    using Ticket = std::uint64_t;

    /// That of this process, in the folder of DTRAIN_OPERATION_LOG; null without it, or if the file cannot be
    /// made. A process that was forked from one with a log gets its own when it asks.
    static OperationLog* of_this_process();

    /// In a folder; for tests.
    explicit OperationLog(const std::string& folder);
    OperationLog(const OperationLog&) = delete;
    OperationLog& operator=(const OperationLog&) = delete;
    ~OperationLog();

    bool is_open() const { return file_ != nullptr; }

    /// The index of a text, which is cut to log_text_bytes - 1; 0 for "" and when there is no room.
    std::uint16_t text(std::string_view text);

    /// @param job_ranks of each rank of the group; empty: the same
    std::uint16_t group(std::string_view name, int rank, int size, std::span<const int> job_ranks = {});
    void name_group(std::uint16_t group, std::string_view name);

    Ticket begin(const BegunOperation& operation);
    /// A thread waits for the operation, and for nothing else, until goes_on() or end().
    /// @returns false if later operations have taken its place
    bool waits(Ticket ticket);
    void goes_on(Ticket ticket);
    /// Of one that has ended already, nothing changes.
    void end(Ticket ticket);

  private:
    LogEntry* entry_of(Ticket ticket) const;

    OperationLogFile* file_ = nullptr;
    std::mutex mutex_;  // of texts and groups
    std::unordered_map<std::string, std::uint16_t> texts_;
};

}  // namespace dtrain::trace
