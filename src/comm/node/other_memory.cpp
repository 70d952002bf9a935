// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/other_memory.hpp"

#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include "comm/node/peers.hpp"
#include "comm/node/process_mark.hpp"

namespace dtrain::comm {
namespace {

/// process_vm_readv() or process_vm_writev()
using Move = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

/// Returns false with errno set.
bool move_all(Move move, int process, std::uint64_t address, std::byte* own, std::size_t bytes) {
    while (bytes > 0) {
        const iovec local{own, bytes};
        const iovec remote{reinterpret_cast<void*>(address), bytes};
        const auto moved = move(process, &local, 1, &remote, 1, 0);
        if (moved <= 0) return false;
        own += moved;
        address += static_cast<std::uint64_t>(moved);
        bytes -= static_cast<std::size_t>(moved);
    }
    return true;
}

bool read_from(int process, std::uint64_t address, std::span<std::byte> to) {
    return move_all(::process_vm_readv, process, address, to.data(), to.size());
}

bool write_to(int process, std::uint64_t address, std::span<const std::byte> from) {
    return move_all(::process_vm_writev, process, address, const_cast<std::byte*>(from.data()), from.size());
}

/// Whether the process has its process_mark() there.
bool has_mark(int process, std::uint64_t address, std::uint64_t mark) {
    std::uint64_t found = 0;
    if (!read_from(process, address, std::as_writable_bytes(std::span(&found, 1)))) return false;
    errno = ESRCH;  // another process has this pid
    return found == mark;
}

}  // namespace

OtherMemory::OtherMemory(const Peers& node) {
    struct Process {
        RankProcess process;
        std::uint64_t address = 0;  // of its mark
        std::uint64_t mark = 0;
        std::uint64_t trial = 0;  // address of what any rank may write
    };
    static std::uint64_t trial = 0;
    const auto& mark = process_mark();
    is_open_ = true;
    for (const auto& other :
         node.all_gather(Process{own_rank_process(), reinterpret_cast<std::uintptr_t>(&mark), mark,
                                 reinterpret_cast<std::uintptr_t>(&trial)})) {
        processes_.push_back(other.process);
        mark_addresses_.push_back(other.address);
        marks_.push_back(other.mark);
        constexpr std::uint64_t zero = 0;
        if (!has_mark(processes_.back().pid, other.address, other.mark) ||
            !write_to(processes_.back().pid, other.trial, std::as_bytes(std::span(&zero, 1))))
            is_open_ = false;
    }
    is_open_ = node.all(is_open_);
}

void OtherMemory::throw_gone(int rank, const char* what) const {
    throw MemoryGone(fmt::format("the memory of process {} cannot be {}: {}",
                                 processes_[static_cast<std::size_t>(rank)].pid, what,
                                 std::generic_category().message(errno)),
                     rank);
}

void OtherMemory::read(int rank, std::uint64_t address, std::span<std::byte> to) const {
    if (!read_from(processes_[static_cast<std::size_t>(rank)].pid, address, to)) throw_gone(rank, "read");
}

void OtherMemory::write(int rank, std::uint64_t address, std::span<const std::byte> from) const {
    if (!write_to(processes_[static_cast<std::size_t>(rank)].pid, address, from)) throw_gone(rank, "written");
}

void OtherMemory::check_is_there(int rank) const {
    const auto of_rank = static_cast<std::size_t>(rank);
    if (!has_mark(processes_[of_rank].pid, mark_addresses_[of_rank], marks_[of_rank]))
        throw_gone(rank, "read");
}

std::optional<std::string> OtherMemory::why_gone(int rank) const {
    const auto& process = processes_[static_cast<std::size_t>(rank)];
    return has_ended(process) ? std::optional(ended_text(process)) : std::nullopt;
}

}  // namespace dtrain::comm
