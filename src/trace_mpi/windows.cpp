// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

namespace {

template <class Run>
[[gnu::always_inline]] inline int making_window(const CollectiveCall& call, MPI_Comm comm,
                                                const MPI_Win* made, const Run& run) {
    return making(call, run, [&](Recorder& recorder) { recorder.groups.add_window(comm, *made); });
}

}  // namespace

DTRAIN_RECORDED(Win_create);
int MPI_Win_create(void* data, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made) {
    return making_window(CollectiveCall{.name = "MPI_Win_create", .where = of_comm(comm)}, comm, made,
                         [&] { return mpi_library::Win_create(data, size, unit, info, comm, made); });
}

DTRAIN_RECORDED(Win_allocate);
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* data, MPI_Win* made) {
    return making_window(CollectiveCall{.name = "MPI_Win_allocate", .where = of_comm(comm)}, comm, made,
                         [&] { return mpi_library::Win_allocate(size, unit, info, comm, data, made); });
}

DTRAIN_RECORDED(Win_allocate_shared);
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* data,
                            MPI_Win* made) {
    return making_window(
        CollectiveCall{.name = "MPI_Win_allocate_shared", .where = of_comm(comm)}, comm, made,
        [&] { return mpi_library::Win_allocate_shared(size, unit, info, comm, data, made); });
}

DTRAIN_RECORDED(Win_create_dynamic);
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* made) {
    return making_window(CollectiveCall{.name = "MPI_Win_create_dynamic", .where = of_comm(comm)}, comm, made,
                         [&] { return mpi_library::Win_create_dynamic(info, comm, made); });
}

DTRAIN_RECORDED(Win_free);
int MPI_Win_free(MPI_Win* window) {
    return freeing(CollectiveCall{.name = "MPI_Win_free", .where = of_window(*window)},
                   [&] { return mpi_library::Win_free(window); });
}

DTRAIN_RECORDED(Win_fence);
int MPI_Win_fence(int assertion, MPI_Win window) {
    return blocking(CollectiveCall{.name = "MPI_Win_fence", .where = of_window(window)},
                    [&] { return mpi_library::Win_fence(assertion, window); });
}

DTRAIN_RECORDED(Win_lock);
int MPI_Win_lock(int type, int rank, int assertion, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_lock", .where = of_window(window), .peer = rank},
                    [&] { return mpi_library::Win_lock(type, rank, assertion, window); });
}

DTRAIN_RECORDED(Win_unlock);
int MPI_Win_unlock(int rank, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_unlock", .where = of_window(window), .peer = rank},
                    [&] { return mpi_library::Win_unlock(rank, window); });
}

DTRAIN_RECORDED(Win_lock_all);
int MPI_Win_lock_all(int assertion, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_lock_all", .where = of_window(window)},
                    [&] { return mpi_library::Win_lock_all(assertion, window); });
}

DTRAIN_RECORDED(Win_unlock_all);
int MPI_Win_unlock_all(MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_unlock_all", .where = of_window(window)},
                    [&] { return mpi_library::Win_unlock_all(window); });
}

DTRAIN_RECORDED(Win_flush);
int MPI_Win_flush(int rank, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_flush", .where = of_window(window), .peer = rank},
                    [&] { return mpi_library::Win_flush(rank, window); });
}

DTRAIN_RECORDED(Win_flush_all);
int MPI_Win_flush_all(MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_flush_all", .where = of_window(window)},
                    [&] { return mpi_library::Win_flush_all(window); });
}

DTRAIN_RECORDED(Win_flush_local);
int MPI_Win_flush_local(int rank, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_flush_local", .where = of_window(window), .peer = rank},
                    [&] { return mpi_library::Win_flush_local(rank, window); });
}

DTRAIN_RECORDED(Win_flush_local_all);
int MPI_Win_flush_local_all(MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_flush_local_all", .where = of_window(window)},
                    [&] { return mpi_library::Win_flush_local_all(window); });
}

DTRAIN_RECORDED(Win_start);
int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_start", .where = of_window(window)},
                    [&] { return mpi_library::Win_start(group, assertion, window); });
}

DTRAIN_RECORDED(Win_complete);
int MPI_Win_complete(MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_complete", .where = of_window(window)},
                    [&] { return mpi_library::Win_complete(window); });
}

DTRAIN_RECORDED(Win_wait);
int MPI_Win_wait(MPI_Win window) {
    return blocking(OtherCall{.name = "MPI_Win_wait", .where = of_window(window)},
                    [&] { return mpi_library::Win_wait(window); });
}
