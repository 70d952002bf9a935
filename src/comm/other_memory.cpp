// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/other_memory.hpp"

#include <cerrno>
#include <random>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/mpi_error.hpp"

namespace dtrain::comm {
namespace {

/// Returns false with errno set.
bool read_from(int process, std::uint64_t address, std::span<std::byte> to) {
    while (!to.empty()) {
        const iovec here{to.data(), to.size()};
        const iovec there{reinterpret_cast<void*>(address), to.size()};
        const auto got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
        if (got <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(got));
        address += static_cast<std::uint64_t>(got);
    }
    return true;
}

}  // namespace

OtherMemory::OtherMemory(MPI_Comm node) {
    int size = 0;
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    // A number that a process with the same id in another container does not have.
    const std::uint64_t mark =
        std::random_device{}() * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(::getpid());
    const std::uint64_t own[] = {static_cast<std::uint64_t>(::getpid()),
                                 reinterpret_cast<std::uintptr_t>(&mark), mark};
    std::vector<std::uint64_t> all(3 * static_cast<std::size_t>(size));
    check(MPI_Allgather(own, 3, MPI_UINT64_T, all.data(), 3, MPI_UINT64_T, node), "MPI_Allgather");
    int readable = 1;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank) {
        processes_.push_back(static_cast<int>(all[3 * rank]));
        std::uint64_t found = 0;
        if (!read_from(processes_.back(), all[3 * rank + 1], std::as_writable_bytes(std::span(&found, 1))) ||
            found != all[3 * rank + 2])
            readable = 0;
    }
    // No rank may continue, and change its mark, before all have read it.
    check(MPI_Allreduce(MPI_IN_PLACE, &readable, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
    is_readable_ = readable != 0;
}

void OtherMemory::read(int rank, std::uint64_t address, std::span<std::byte> to) const {
    const int process = processes_[static_cast<std::size_t>(rank)];
    if (!read_from(process, address, to))
        throw Error(fmt::format("the memory of process {} cannot be read: {}", process,
                                std::generic_category().message(errno)));
}

}  // namespace dtrain::comm
