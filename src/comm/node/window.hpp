// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

namespace dtrain::comm {

class Peers;
class SharedSegment;

/// Shared memory of the ranks of a node: every rank can access all parts, which are aligned to 4096 bytes and
/// zeroed. One of MPI is created and freed by all ranks of `node` together.
class Window {
  public:
    /// Collective over `node`; ranks may ask for different lengths. @throws MpiError
    Window(MPI_Comm node, std::size_t bytes);
    /// A segment without MPI, which each rank may free when it likes. Collective.
    /// @throws Error on all ranks if there is not enough shared memory
    Window(const Peers& node, std::size_t bytes);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    /// With MPI collective, unless MPI has ended or other ranks may not arrive: then the memory is left to
    /// the end of the process.
    ~Window();

    /// Why a node cannot have a window in which this rank has this many bytes. Collective.
    static std::optional<std::string> no_space(const Peers& node, std::size_t bytes);

    /// By rank of `node`.
    std::span<std::byte> part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
    /// By process_mark(); empty if that process has none.
    std::span<std::byte> part_of_process(std::uint64_t mark) const;

    /// The same on all ranks of the node and unique among the windows that exist in a process at the same
    /// time.
    std::uint64_t id() const { return id_; }

    struct Position {
        const Window* window = nullptr;
        std::size_t offset = 0;
    };
    /// Position of these bytes in this rank's part of a window; none if they are not entirely in one.
    static std::optional<Position> find(const std::byte* data, std::size_t bytes);

  private:
    struct Wanted {
        std::uint64_t bytes = 0;
        std::uint64_t mark = 0;  // process_mark()
        std::uint64_t id = 0;    // of the first rank: the window's
    };
    void use(int rank, std::span<const Wanted> wanted);
    void enlist();

    MPI_Win handle_ = MPI_WIN_NULL;
    std::shared_ptr<SharedSegment> segment_;  // null: the memory is that of handle_
    std::uint64_t id_ = 0;
    std::vector<std::span<std::byte>> parts_;
    std::vector<std::uint64_t> marks_;
    std::span<std::byte> own_;
};

/// The ranks in MPI_COMM_WORLD of a communicator's ranks.
std::vector<int> world_ranks(MPI_Comm communicator);

}  // namespace dtrain::comm
