// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include <mpi.h>

#include <dtrain/communicator.hpp>

#include "base/reserve_space.hpp"
#include "storage/block_io.hpp"

namespace dtrain::checkpoint {

/// A file that all ranks of the job write together by MPI-IO. Every function is collective over
/// MPI_COMM_WORLD, all of whose ranks must be in the communicator; waits inside MPI-IO have no deadline, but
/// start only when all ranks have arrived. All functions throw Error on all ranks, naming the path.
///
/// Open MPI 4.1 calls a collective write on a full disk a success, and says that all bytes were written. So
/// room is reserved for all of them first; where the file system cannot, each rank reads back what it wrote.
class CollectiveFile {
  public:
    /// As reserve_space().
    using Reserve = std::function<bool(const std::filesystem::path& file, std::int64_t bytes)>;

    /// Creates the file if it does not exist; only then do striping hints take effect.
    /// @param hints for MPI_Info: striping_factor, striping_unit, cb_nodes, ...; MPI ignores unknown ones
    CollectiveFile(Communicator communicator, std::filesystem::path path,
                   const std::map<std::string, std::string>& hints, Reserve reserve = reserve_space);
    CollectiveFile(const CollectiveFile&) = delete;
    CollectiveFile& operator=(const CollectiveFile&) = delete;
    /// Does not close the file, since closing is collective; a job that failed ends anyway.
    ~CollectiveFile() = default;

    /// MPI counts are int, and the aggregators of a node buffer what they collect.
    static constexpr std::size_t max_round_bytes = std::size_t{256} << 20;

    /// Writes this rank's extents, which must be sorted by offset and not overlap with any rank's.
    /// @param round_bytes how much a rank writes at once; all ranks make as many rounds as the longest needs
    void write(std::span<const storage::WriteExtent> extents, std::size_t round_bytes = max_round_bytes);

    /// Syncs and closes.
    void close();

  private:
    void check_together(int code, const char* operation) const;
    /// @returns whether there is room for all bytes; false: nobody knows
    bool reserve_together(std::span<const storage::WriteExtent> extents) const;
    void read_back_together(std::span<const storage::WriteExtent> extents) const;

    Communicator communicator_;
    std::filesystem::path path_;
    Reserve reserve_;
    MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace dtrain::checkpoint
