// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

// With neighbours the counts may differ, as the numbers of neighbours do.

DTRAIN_RECORDED(Neighbor_allgather);
int MPI_Neighbor_allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                           int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Neighbor_allgather",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(send_type)},
                    [&] {
                        return mpi_library::Neighbor_allgather(send, send_count, send_type, receive,
                                                               receive_count, receive_type, comm);
                    });
}

DTRAIN_RECORDED(Ineighbor_allgather);
int MPI_Ineighbor_allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                            int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                            MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ineighbor_allgather",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(send_type)},
                       request, [&] {
                           return mpi_library::Ineighbor_allgather(send, send_count, send_type, receive,
                                                                   receive_count, receive_type, comm,
                                                                   request);
                       });
}

DTRAIN_RECORDED(Neighbor_allgatherv);
int MPI_Neighbor_allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                            const int receive_counts[], const int receive_offsets[],
                            MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Neighbor_allgatherv",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(send_type)},
                    [&] {
                        return mpi_library::Neighbor_allgatherv(send, send_count, send_type, receive,
                                                                receive_counts, receive_offsets, receive_type,
                                                                comm);
                    });
}

DTRAIN_RECORDED(Ineighbor_allgatherv);
int MPI_Ineighbor_allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                             const int receive_counts[], const int receive_offsets[],
                             MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ineighbor_allgatherv",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(send_type)},
                       request, [&] {
                           return mpi_library::Ineighbor_allgatherv(send, send_count, send_type, receive,
                                                                    receive_counts, receive_offsets,
                                                                    receive_type, comm, request);
                       });
}

DTRAIN_RECORDED(Neighbor_alltoall);
int MPI_Neighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                          int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Neighbor_alltoall", .where = of_comm(comm), .elements = Elements::differ(send_type)},
        [&] {
            return mpi_library::Neighbor_alltoall(send, send_count, send_type, receive, receive_count,
                                                  receive_type, comm);
        });
}

DTRAIN_RECORDED(Ineighbor_alltoall);
int MPI_Ineighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                           int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                           MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ineighbor_alltoall",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(send_type)},
                       request, [&] {
                           return mpi_library::Ineighbor_alltoall(send, send_count, send_type, receive,
                                                                  receive_count, receive_type, comm, request);
                       });
}

DTRAIN_RECORDED(Neighbor_alltoallv);
int MPI_Neighbor_alltoallv(const void* send, const int send_counts[], const int send_offsets[],
                           MPI_Datatype send_type, void* receive, const int receive_counts[],
                           const int receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Neighbor_alltoallv",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(send_type)},
                    [&] {
                        return mpi_library::Neighbor_alltoallv(send, send_counts, send_offsets, send_type,
                                                               receive, receive_counts, receive_offsets,
                                                               receive_type, comm);
                    });
}

DTRAIN_RECORDED(Ineighbor_alltoallv);
int MPI_Ineighbor_alltoallv(const void* send, const int send_counts[], const int send_offsets[],
                            MPI_Datatype send_type, void* receive, const int receive_counts[],
                            const int receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm,
                            MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ineighbor_alltoallv",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(send_type)},
                       request, [&] {
                           return mpi_library::Ineighbor_alltoallv(send, send_counts, send_offsets, send_type,
                                                                   receive, receive_counts, receive_offsets,
                                                                   receive_type, comm, request);
                       });
}

DTRAIN_RECORDED(Neighbor_alltoallw);
int MPI_Neighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_offsets[],
                           const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                           const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[],
                           MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Neighbor_alltoallw",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(MPI_DATATYPE_NULL)},
                    [&] {
                        return mpi_library::Neighbor_alltoallw(send, send_counts, send_offsets, send_types,
                                                               receive, receive_counts, receive_offsets,
                                                               receive_types, comm);
                    });
}

DTRAIN_RECORDED(Ineighbor_alltoallw);
int MPI_Ineighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_offsets[],
                            const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                            const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[],
                            MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ineighbor_alltoallw",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(MPI_DATATYPE_NULL)},
                       request, [&] {
                           return mpi_library::Ineighbor_alltoallw(
                               send, send_counts, send_offsets, send_types, receive, receive_counts,
                               receive_offsets, receive_types, comm, request);
                       });
}
