// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "base/files.hpp"

namespace dtrain::comm {

class Peers;

/// Address range that several processes of a node map. Memory is provided later, part by part: addresses
/// without it must not be accessed. Unlike a Window it can be freed without the other ranks.
class SharedSegment {
  public:
    /// Creates a segment with a unique name. @returns null if the system refuses
    static std::shared_ptr<SharedSegment> make(std::size_t bytes);
    /// Opens a segment of another process of this user. @returns null if the system refuses
    static std::shared_ptr<SharedSegment> find(const std::string& name, std::size_t bytes);

    /// Opens the segment that has this name, or makes it: of several processes the first one makes it, and
    /// each takes part in removing the name (hide()).
    /// @throws Error if the system refuses, or the segment belongs to another user
    static std::shared_ptr<SharedSegment> find_or_make(const std::string& name, std::size_t bytes);

    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;
    ~SharedSegment();

    std::span<std::byte> bytes() const { return bytes_; }
    const std::string& name() const { return name_; }

    /// Provides memory for this part, zeroed if it has not been written yet. @returns whether it succeeded
    bool provide(std::size_t first, std::size_t bytes);

    /// Removes the name, so that no further process can open it; the memory lives as long as any process has
    /// it mapped.
    void hide();
    /// Another process has removed the name.
    void note_hidden() { is_hidden_ = true; }

  private:
    SharedSegment(std::string name, FileDescriptor file, std::size_t bytes);

    std::string name_;
    FileDescriptor file_;
    std::span<std::byte> bytes_;
    bool is_hidden_ = true;
};

/// A segment that rank 0 makes and all ranks map, without memory yet; null on ranks that could not.
/// Collective.
std::shared_ptr<SharedSegment> share_segment(const Peers& node, std::size_t bytes);

/// A segment of each rank of `node`, mapped by all of them; none if any rank fails. Collective. @param max
/// bytes of each; fewer if /dev/shm has little space
std::vector<std::shared_ptr<SharedSegment>> share_segments(MPI_Comm node, std::size_t max);

}  // namespace dtrain::comm
