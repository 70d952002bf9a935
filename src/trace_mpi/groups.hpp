// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/operation_log.hpp"
#include "trace_mpi/handle_table.hpp"
#include "trace_mpi/mpi.hpp"

namespace dtrain::trace_mpi {

/// What a call is about.
struct Where {
    std::uintptr_t key;
    MPI_Comm comm = MPI_COMM_NULL;  ///< none: a window or a file
};
inline Where of_comm(MPI_Comm comm) {
    return {key_of(comm), comm};
}
inline Where of_window(MPI_Win window) {
    return {key_of(window)};
}
inline Where of_file(MPI_File file) {
    return {key_of(file)};
}

/// A communicator, window or file that this process has.
struct Group {
    std::uint16_t index = 0;  ///< in the log
    /// Its collective calls can be counted. Not if the log has no room for another group.
    bool is_counted = false;
    bool is_inter = false;  ///< the peers of messages are ranks of another group
    int rank = 0;
    int size = 0;
    std::string name;
    std::vector<int> job_ranks;  ///< empty: each rank is its number in MPI_COMM_WORLD
    std::atomic<std::uint64_t> collectives{0};
    std::atomic<std::uint32_t> children{0};
};

/// Ranks of the job are those of MPI_COMM_WORLD.
class Groups {
  public:
    /// MPI need not be initialised.
    Groups(trace::OperationLog& log, int rank, int size);

    /// Says again which rank this is, once MPI knows.
    void confirm_world();

    /// One that was made without this library's knowledge gets a name from its ranks.
    Group& of(Where where);

    /// A communicator that all ranks of `parent` made. @param made may be MPI_COMM_NULL
    void add_child(MPI_Comm parent, MPI_Comm made);
    /// One that only its own ranks made: its ranks are its name.
    void add_by_ranks(std::string_view prefix, MPI_Comm made);
    void add_window(MPI_Comm parent, MPI_Win made);
    void add_file(MPI_Comm parent, MPI_File made, std::string_view path);

    void set_name(MPI_Comm comm, std::string_view name);
    void remove(Where where);

  private:
    struct Members {
        int rank = 0;
        int size = 0;
        std::vector<int> job_ranks;
    };

    static Members members_of(MPI_Comm comm);
    Group* add(std::uintptr_t key, const std::string& name, const Members& members, bool inter = false);
    void add_part(std::uintptr_t key, Group& parent, const std::string& kind);
    Group& add_unknown(MPI_Comm comm);
    std::string name_by_ranks(std::string_view prefix, const Members& members);
    Group& others();

    trace::OperationLog& log_;
    std::mutex mutex_;  // of changes
    HandleTable<Group, 512> table_;
    Group others_;  ///< those that the log has no room for, or that nothing is known of
    std::once_flag has_others_;
    std::size_t groups_ = 0;
    std::size_t members_ = 0;
    std::map<std::string, int> made_by_ranks_;  ///< how many have a name
};

}  // namespace dtrain::trace_mpi
