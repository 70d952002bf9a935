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

/// Addresses of memory that several processes of a node see. The memory itself comes later, part by part: an
/// address without it must not be touched. Unlike a Window it ends without the others.
class SharedSegment {
  public:
    /// Under a name that nobody else has.
    /// @returns null when the system refuses
    static std::shared_ptr<SharedSegment> make(std::size_t bytes);
    /// Another process's. @returns null when the system refuses
    static std::shared_ptr<SharedSegment> find(const std::string& name, std::size_t bytes);

    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;
    ~SharedSegment();

    std::span<std::byte> bytes() const { return bytes_; }
    const std::string& name() const { return name_; }

    /// Memory for this part, zeroed where nobody has written yet. @returns whether there was some
    bool provide(std::size_t first, std::size_t bytes);

    /// From now on nobody finds it any more; it lasts as long as somebody has it.
    void hide();

  private:
    SharedSegment(std::string name, FileDescriptor file, std::size_t bytes);

    std::string name_;
    FileDescriptor file_;
    std::span<std::byte> bytes_;
    bool is_hidden_ = true;
};

/// A segment of each rank of `node`, which all of them see; none when one of them cannot. Collective.
/// @param max bytes of each; fewer where /dev/shm has little room
std::vector<std::shared_ptr<SharedSegment>> share_segments(MPI_Comm node, std::size_t max);

}  // namespace dtrain::comm
