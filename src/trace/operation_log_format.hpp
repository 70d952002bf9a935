// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// The file in which a process keeps its last operations: mapped by the process that writes it, so that it is
/// complete even after SIGKILL, and read by the worker of its rank. All of it is of one machine: integers are
/// the machine's own, times are nanoseconds of CLOCK_MONOTONIC.
namespace dtrain::trace {

/// The folder that a worker gives its program; each of the program's processes writes <pid>.operations
/// there; a second log of the same process is <pid>-2.operations.
inline constexpr const char* operation_log_variable = "DTRAIN_OPERATION_LOG";
inline constexpr const char* operation_log_suffix = ".operations";

inline constexpr std::array<char, 8> log_magic{'D', 'T', 'O', 'P', 'L', 'O', 'G', '1'};

inline constexpr std::size_t log_entries = 1024;  // a power of two
inline constexpr std::size_t log_groups = 256;
inline constexpr std::size_t log_members = 8192;
inline constexpr std::size_t log_texts = 1024;
inline constexpr std::size_t log_text_bytes = 96;

/// BegunOperation::count where ranks may have different ones, or nobody knows.
inline constexpr std::uint64_t unknown_count = UINT64_MAX;

/// A thread that turns back to its wait within this time has waited all the while: some wait in slices.
inline constexpr std::int64_t short_pause_ns = 1'000'000'000;

enum class OperationKind : std::uint8_t {
    collective,   ///< each rank of the group calls it
    send,         ///< to `peer`
    receive,      ///< from `peer`
    receive_any,  ///< from whichever rank has sent
    other,        ///< waits for something that is none of these
    own_gpu,      ///< the rank's GPU, which has not come to collective operation `number` of the group
};

/// An operation as its writer knows it. The texts are indices of those of the file; 0: none.
struct BegunOperation {
    OperationKind kind = OperationKind::collective;
    std::uint16_t group = 0;   ///< index of a LogGroup
    std::uint64_t number = 0;  ///< collective and own_gpu: the how-manieth of its group, from 1 on; else 0
    std::uint16_t name = 0;
    std::uint16_t type = 0;
    std::uint16_t reduction = 0;
    std::uint16_t source = 0;  ///< the line of the program that called it, "train.py:88"
    std::uint64_t count = 0;   ///< elements; or unknown_count
    std::int32_t peer = -1;    ///< root, destination or source, as a rank of the group; -1: none
    std::int32_t tag = 0;
};

/// What an operation has in place of its end until it ends: no other operation's end fits it.
constexpr std::int64_t goes_on_mark(std::uint64_t ticket) {
    return -static_cast<std::int64_t>(ticket);
}

/// An operation and how far it is. Written by one thread at a time.
struct LogEntry {
    /// Twice the operation's ticket; one more while the fields below are being written.
    std::atomic<std::uint64_t> version;
    BegunOperation operation;
    std::int64_t begin_ns;
    std::atomic<std::int64_t> wait_ns;    ///< since when a thread waits for it; 0: none has
    std::atomic<std::int64_t> paused_ns;  ///< when that thread turned to something else; 0: it waits
    std::atomic<std::int64_t> end_ns;     ///< 0 or less: it goes on; goes_on_mark()
};

/// A communicator or process group.
struct LogGroup {
    std::uint16_t name;  ///< index of a text; the same in all ranks of the group
    std::int32_t rank;   ///< this process's, in the group
    std::int32_t size;
    std::int32_t first_member;  ///< index into the members; -1: they are the job's first `size` ranks
};

struct OperationLogFile {
    std::array<char, 8> magic;
    std::int32_t pid;
    std::atomic<std::uint64_t> begun;      ///< operations; the last ticket
    std::atomic<std::uint64_t> completed;  ///< operations that have ended
    std::atomic<std::uint32_t> groups_used;
    std::atomic<std::uint32_t> members_used;
    std::atomic<std::uint32_t> texts_used;
    std::array<LogGroup, log_groups> groups;
    std::array<std::int32_t, log_members> members;                  ///< ranks of the job
    std::array<std::array<char, log_text_bytes>, log_texts> texts;  ///< end with a zero
    std::array<LogEntry, log_entries> entries;                      ///< of ticket t: entry t % log_entries
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace dtrain::trace
