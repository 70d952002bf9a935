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
/// MPI_COMM_WORLD, all of whose ranks must be in the communicator; waits inside MPI-IO have no deadline, but
/// start only when all ranks have arrived. All functions throw Error on all ranks, naming the path.
class CollectiveFile {
  public:
    /// Creates the file if it does not exist; only then do striping hints take effect.
    /// @param hints for MPI_Info: striping_factor, striping_unit, cb_nodes, ...; MPI ignores unknown ones
    CollectiveFile(Communicator communicator, std::filesystem::path path,
                   const std::map<std::string, std::string>& hints);
    CollectiveFile(const CollectiveFile&) = delete;
    CollectiveFile& operator=(const CollectiveFile&) = delete;
    /// Does not close the file, since closing is collective; a job that failed ends anyway.
    ~CollectiveFile() = default;

    /// Writes this rank's extents, which must be sorted by offset and not overlap with any rank's.
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
