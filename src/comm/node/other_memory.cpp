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

/// Returns false with errno set.
bool read_from(int process, std::uint64_t address, std::span<std::byte> to) {
    while (!to.empty()) {
        const iovec local{to.data(), to.size()};
        const iovec remote{reinterpret_cast<void*>(address), to.size()};
        const auto got = ::process_vm_readv(process, &local, 1, &remote, 1, 0);
        if (got <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(got));
        address += static_cast<std::uint64_t>(got);
    }
    return true;
}

}  // namespace

OtherMemory::OtherMemory(const Peers& node) {
    struct Process {
        std::int64_t pid = 0;
        std::uint64_t address = 0;  // of its mark
        std::uint64_t mark = 0;
    };
    const auto& mark = process_mark();
    is_readable_ = true;
    for (const auto& process :
         node.all_gather(Process{::getpid(), reinterpret_cast<std::uintptr_t>(&mark), mark})) {
        processes_.push_back(static_cast<int>(process.pid));
        marks_.push_back(process.mark);
        std::uint64_t found = 0;
        if (!read_from(processes_.back(), process.address, std::as_writable_bytes(std::span(&found, 1))) ||
            found != process.mark)
            is_readable_ = false;
    }
    is_readable_ = node.all(is_readable_);
}

void OtherMemory::read(int rank, std::uint64_t address, std::span<std::byte> to) const {
    const int process = processes_[static_cast<std::size_t>(rank)];
    if (!read_from(process, address, to))
        throw MemoryGone(fmt::format("the memory of process {} cannot be read: {}", process,
                                     std::generic_category().message(errno)),
                         rank);
}

}  // namespace dtrain::comm
