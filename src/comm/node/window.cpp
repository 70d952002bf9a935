// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/window.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/huge_pages.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/node/peers.hpp"
#include "comm/node/process_mark.hpp"
#include "comm/node/shared_segment.hpp"

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
std::optional<std::string> Window::no_space(const Peers& node, std::size_t bytes) {
    struct Space {
        std::uint64_t wanted = 0;
        std::uint64_t free = ~std::uint64_t{0};
    };
    Space own{.wanted = whole_pages(bytes)};
    struct statvfs space {};
    if (node.size() > 1 && ::statvfs("/dev/shm", &space) == 0)
        own.free = std::uint64_t{space.f_bavail} * space.f_frsize;
    std::uint64_t wanted = 0;
    const auto all = node.all_gather(own);
    for (const auto& of_rank : all) wanted += of_rank.wanted;
    const auto free = all.front().free;
    if (wanted <= free) return std::nullopt;
    return fmt::format(
        "{} bytes of shared memory are wanted on a node and /dev/shm has {} left: make it larger "
        "(mount -o remount,size=...; docker run --shm-size)",
        wanted, free);
}

Window::Window(MPI_Comm node, std::size_t bytes) {
    const MpiPeers peers(node);
    void* base = nullptr;
    check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole_pages(bytes)), 1, MPI_INFO_NULL, node, &base,
                                  &handle_),
          "MPI_Win_allocate_shared");
    const auto wanted = peers.all_gather(Wanted{bytes, process_mark(), peers.rank() == 0 ? new_id() : 0});
    for (int other = 0; other < peers.size(); ++other) {
        MPI_Aint whole = 0;
        int unit = 1;
        check(MPI_Win_shared_query(handle_, other, &whole, &unit, &base), "MPI_Win_shared_query");
        const auto address = reinterpret_cast<std::uintptr_t>(base);
        auto* begin = static_cast<std::byte*>(base) +
                      ((address + memory_page - 1) / memory_page * memory_page - address);
        parts_.emplace_back(begin, wanted[static_cast<std::size_t>(other)].bytes);
    }
    use(peers.rank(), wanted);
    // The rank that first touches a page gets it in its nearest memory.
    std::memset(own_.data(), 0, own_.size());
    check(MPI_Barrier(node), "MPI_Barrier");
    enlist();
}

Window::Window(const Peers& node, std::size_t bytes) {
    const auto wanted = node.all_gather(Wanted{bytes, process_mark(), node.rank() == 0 ? new_id() : 0});
    std::vector<std::size_t> begins{0};
    for (const auto& [length, mark, id] : wanted) begins.push_back(begins.back() + whole_pages(length));
    segment_ = share_segment(node, begins.back());
    const auto own = static_cast<std::size_t>(node.rank());
    // The rank that provides pages gets them in its nearest memory.
    const bool has_memory =
        segment_ != nullptr && segment_->provide(begins[own], begins[own + 1] - begins[own]);
    if (!node.all(has_memory))
        throw Error(fmt::format(
            "{} bytes of shared memory are wanted on a node and /dev/shm does not give them: make it larger "
            "(mount -o remount,size=...; docker run --shm-size)",
            begins.back()));
    for (std::size_t rank = 0; rank < wanted.size(); ++rank)
        parts_.push_back(segment_->bytes().subspan(begins[rank], wanted[rank].bytes));
    use(node.rank(), wanted);
    enlist();
}

void Window::use(int rank, std::span<const Wanted> wanted) {
    id_ = wanted.front().id;
    for (const auto& of_rank : wanted) marks_.push_back(of_rank.mark);
    own_ = part(rank);
}

void Window::enlist() {
    const auto turn = take_turn();
    windows().push_back(this);
}

Window::~Window() {
    {
        const auto turn = take_turn();
        std::erase(windows(), this);
    }
    if (handle_ != MPI_WIN_NULL && !leaves_alone()) MPI_Win_free(&handle_);
}

std::span<std::byte> Window::part_of_process(std::uint64_t mark) const {
    const auto found = std::ranges::find(marks_, mark);
    return found == marks_.end() ? std::span<std::byte>()
                                 : parts_[static_cast<std::size_t>(found - marks_.begin())];
}

std::optional<Window::Position> Window::find(const std::byte* data, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    for (const auto* window : windows()) {
        const auto begin = reinterpret_cast<std::uintptr_t>(window->own_.data());
        if (address >= begin && address - begin <= window->own_.size() &&
            bytes <= window->own_.size() - (address - begin))
            return Position{window, address - begin};
    }
    return std::nullopt;
}

}  // namespace dtrain::comm
