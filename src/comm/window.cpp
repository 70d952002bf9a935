// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/window.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/huge_pages.hpp"
#include "comm/leaving.hpp"
#include "comm/mpi_error.hpp"
#include "comm/progress_thread.hpp"

namespace dtrain::comm {
namespace {

std::vector<const Window*>& windows() {
    static auto* all = new std::vector<const Window*>;
    return *all;
}

std::uint64_t new_id() {
    static std::uint64_t made = 0;
    return static_cast<std::uint64_t>(::getpid()) << 32U | ++made;
}

/// Whole pages plus a spare one, because MPI does not guarantee alignment.
std::size_t whole_pages(std::size_t bytes) {
    return (bytes + memory_page - 1) / memory_page * memory_page + memory_page;
}

}  // namespace

std::vector<int> world_ranks(MPI_Comm communicator) {
    int size = 0;
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    std::vector<int> own(static_cast<std::size_t>(size));
    std::vector<int> world(own.size());
    std::iota(own.begin(), own.end(), 0);
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group all = MPI_GROUP_NULL;
    check(MPI_Comm_group(communicator, &group), "MPI_Comm_group");
    check(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    check(MPI_Group_translate_ranks(group, size, own.data(), all, world.data()), "MPI_Group_translate_ranks");
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return world;
}

// tmpfs hands out addresses without memory behind them, and the process that touches them dies.
std::optional<std::string> Window::no_space(MPI_Comm node, std::size_t bytes) {
    int size = 0;
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    auto wanted = static_cast<unsigned long long>(whole_pages(bytes));
    check(MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, node), "MPI_Allreduce");
    struct statvfs space {};
    const bool known = size > 1 && ::statvfs("/dev/shm", &space) == 0;
    auto free = known ? static_cast<unsigned long long>(space.f_bavail) * space.f_frsize : ~0ULL;
    check(MPI_Bcast(&free, 1, MPI_UNSIGNED_LONG_LONG, 0, node), "MPI_Bcast");
    if (wanted <= free) return std::nullopt;
    return fmt::format(
        "{} bytes of shared memory are wanted on a node and /dev/shm has {} left: make it larger "
        "(mount -o remount,size=...; docker run --shm-size)",
        wanted, free);
}

Window::Window(MPI_Comm node, std::size_t bytes) : world_ranks_(world_ranks(node)) {
    const int size = static_cast<int>(world_ranks_.size());
    int rank = 0;
    check(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    void* base = nullptr;
    check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole_pages(bytes)), 1, MPI_INFO_NULL, node, &base,
                                  &handle_),
          "MPI_Win_allocate_shared");
    id_ = rank == 0 ? new_id() : 0;
    check(MPI_Bcast(&id_, 1, MPI_UINT64_T, 0, node), "MPI_Bcast");
    std::vector<unsigned long long> lengths(world_ranks_.size(), bytes);
    const unsigned long long length = bytes;
    check(MPI_Allgather(&length, 1, MPI_UNSIGNED_LONG_LONG, lengths.data(), 1, MPI_UNSIGNED_LONG_LONG, node),
          "MPI_Allgather");
    for (int other = 0; other < size; ++other) {
        MPI_Aint whole = 0;
        int unit = 1;
        check(MPI_Win_shared_query(handle_, other, &whole, &unit, &base), "MPI_Win_shared_query");
        const auto address = reinterpret_cast<std::uintptr_t>(base);
        auto* begin = static_cast<std::byte*>(base) +
                      ((address + memory_page - 1) / memory_page * memory_page - address);
        parts_.emplace_back(begin, static_cast<std::size_t>(lengths[static_cast<std::size_t>(other)]));
    }
    own_ = part(rank);
    // The rank that first touches a page gets it in its nearest memory.
    std::memset(own_.data(), 0, own_.size());
    check(MPI_Barrier(node), "MPI_Barrier");
    const auto turn = take_turn();
    windows().push_back(this);
}

Window::~Window() {
    {
        const auto turn = take_turn();
        std::erase(windows(), this);
    }
    if (!leaves_alone()) MPI_Win_free(&handle_);
}

std::span<std::byte> Window::part_of_world_rank(int rank) const {
    const auto found = std::find(world_ranks_.begin(), world_ranks_.end(), rank);
    return found == world_ranks_.end() ? std::span<std::byte>()
                                       : parts_[static_cast<std::size_t>(found - world_ranks_.begin())];
}

std::optional<Window::Place> Window::find(const std::byte* data, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    for (const auto* window : windows()) {
        const auto begin = reinterpret_cast<std::uintptr_t>(window->own_.data());
        if (address >= begin && address - begin <= window->own_.size() &&
            bytes <= window->own_.size() - (address - begin))
            return Place{window, address - begin};
    }
    return std::nullopt;
}

}  // namespace dtrain::comm
