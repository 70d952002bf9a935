// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include <mpi.h>

#include <dtrain/communicator.hpp>

#include "io/block_io.hpp"

namespace dtrain::checkpoint {

/// A file that all ranks of the job write together by MPI-IO. Every function is collective over
/// MPI_COMM_WORLD, of which the communicator has all ranks; waits inside MPI-IO have no deadline, but begin
/// when all ranks have come. All throw Error on all ranks, naming the path.
class CollectiveFile {
  public:
    /// Makes the file where there is none: what striping is asked for counts then.
    /// @param hints of MPI_Info: striping_factor, striping_unit, cb_nodes, ...; MPI ignores those that it
    /// does not know
    CollectiveFile(Communicator communicator, std::filesystem::path path,
                   const std::map<std::string, std::string>& hints);
    CollectiveFile(const CollectiveFile&) = delete;
    CollectiveFile& operator=(const CollectiveFile&) = delete;
    /// A file that close() has not closed stays open: closing is collective, and a job that failed ends.
    ~CollectiveFile() = default;

    /// Writes this rank's extents, which are in the order of their offsets and overlap with no rank's.
    void write(std::span<const io::WriteExtent> extents);

    /// Syncs and closes.
    void close();

  private:
    void check_together(int code, const char* operation) const;

    Communicator communicator_;
    std::filesystem::path path_;
    MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace dtrain::checkpoint
