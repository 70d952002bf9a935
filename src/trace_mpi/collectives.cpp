// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

namespace {

/// Of an operation in which a rank may leave out what it sends, since it lies where it receives.
Elements sent_or_in_place(const void* send, int send_count, MPI_Datatype send_type, int receive_count,
                          MPI_Datatype receive_type) {
    return send == MPI_IN_PLACE ? Elements(receive_count, receive_type) : Elements(send_count, send_type);
}

Elements differ_or_in_place(const void* send, MPI_Datatype send_type, MPI_Datatype receive_type) {
    return Elements::differ(send == MPI_IN_PLACE ? receive_type : send_type);
}

/// Only the root has what is scattered; the others know what they receive.
Elements scattered(const void* receive, int send_count, MPI_Datatype send_type, int receive_count,
                   MPI_Datatype receive_type) {
    return receive == MPI_IN_PLACE ? Elements(send_count, send_type) : Elements(receive_count, receive_type);
}

}  // namespace

DTRAIN_RECORDED(Barrier);
int MPI_Barrier(MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Barrier", .where = of_comm(comm)},
                    [&] { return mpi_library::Barrier(comm); });
}

DTRAIN_RECORDED(Ibarrier);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ibarrier", .where = of_comm(comm)}, request,
                       [&] { return mpi_library::Ibarrier(comm, request); });
}

DTRAIN_RECORDED(Bcast);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Bcast", .where = of_comm(comm), .elements = {count, type}, .root = root},
        [&] { return mpi_library::Bcast(data, count, type, root, comm); });
}

DTRAIN_RECORDED(Ibcast);
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Ibcast", .where = of_comm(comm), .elements = {count, type}, .root = root},
        request, [&] { return mpi_library::Ibcast(data, count, type, root, comm, request); });
}

DTRAIN_RECORDED(Reduce);
int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Reduce", .where = of_comm(comm), .elements = {count, type}, .op = op, .root = root},
        [&] { return mpi_library::Reduce(send, receive, count, type, op, root, comm); });
}

DTRAIN_RECORDED(Ireduce);
int MPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_Ireduce", .where = of_comm(comm), .elements = {count, type}, .op = op, .root = root},
        request, [&] { return mpi_library::Ireduce(send, receive, count, type, op, root, comm, request); });
}

DTRAIN_RECORDED(Allreduce);
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Allreduce", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return mpi_library::Allreduce(send, receive, count, type, op, comm); });
}

DTRAIN_RECORDED(Iallreduce);
int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iallreduce", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return mpi_library::Iallreduce(send, receive, count, type, op, comm, request); });
}

DTRAIN_RECORDED(Reduce_scatter);
int MPI_Reduce_scatter(const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Reduce_scatter",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(type),
                                   .op = op},
                    [&] { return mpi_library::Reduce_scatter(send, receive, counts, type, op, comm); });
}

DTRAIN_RECORDED(Ireduce_scatter);
int MPI_Ireduce_scatter(const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Ireduce_scatter",
                       .where = of_comm(comm),
                       .elements = Elements::differ(type),
                       .op = op},
        request,
        [&] { return mpi_library::Ireduce_scatter(send, receive, counts, type, op, comm, request); });
}

DTRAIN_RECORDED(Reduce_scatter_block);
int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Reduce_scatter_block", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return mpi_library::Reduce_scatter_block(send, receive, count, type, op, comm); });
}

DTRAIN_RECORDED(Ireduce_scatter_block);
int MPI_Ireduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_Ireduce_scatter_block", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request,
        [&] { return mpi_library::Ireduce_scatter_block(send, receive, count, type, op, comm, request); });
}

DTRAIN_RECORDED(Scan);
int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return mpi_library::Scan(send, receive, count, type, op, comm); });
}

DTRAIN_RECORDED(Iscan);
int MPI_Iscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return mpi_library::Iscan(send, receive, count, type, op, comm, request); });
}

DTRAIN_RECORDED(Exscan);
int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Exscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return mpi_library::Exscan(send, receive, count, type, op, comm); });
}

DTRAIN_RECORDED(Iexscan);
int MPI_Iexscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iexscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return mpi_library::Iexscan(send, receive, count, type, op, comm, request); });
}

DTRAIN_RECORDED(Gather);
int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Gather",
                       .where = of_comm(comm),
                       .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type),
                       .root = root},
        [&] {
            return mpi_library::Gather(send, send_count, send_type, receive, receive_count, receive_type,
                                       root, comm);
        });
}

DTRAIN_RECORDED(Igather);
int MPI_Igather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Igather",
                       .where = of_comm(comm),
                       .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type),
                       .root = root},
        request, [&] {
            return mpi_library::Igather(send, send_count, send_type, receive, receive_count, receive_type,
                                        root, comm, request);
        });
}

DTRAIN_RECORDED(Gatherv);
int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type, int root,
                MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Gatherv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type),
                                   .root = root},
                    [&] {
                        return mpi_library::Gatherv(send, send_count, send_type, receive, receive_counts,
                                                    receive_offsets, receive_type, root, comm);
                    });
}

DTRAIN_RECORDED(Igatherv);
int MPI_Igatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                 const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type, int root,
                 MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Igatherv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type),
                                      .root = root},
                       request, [&] {
                           return mpi_library::Igatherv(send, send_count, send_type, receive, receive_counts,
                                                        receive_offsets, receive_type, root, comm, request);
                       });
}

DTRAIN_RECORDED(Scatter);
int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scatter",
                       .where = of_comm(comm),
                       .elements = scattered(receive, send_count, send_type, receive_count, receive_type),
                       .root = root},
        [&] {
            return mpi_library::Scatter(send, send_count, send_type, receive, receive_count, receive_type,
                                        root, comm);
        });
}

DTRAIN_RECORDED(Iscatter);
int MPI_Iscatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscatter",
                       .where = of_comm(comm),
                       .elements = scattered(receive, send_count, send_type, receive_count, receive_type),
                       .root = root},
        request, [&] {
            return mpi_library::Iscatter(send, send_count, send_type, receive, receive_count, receive_type,
                                         root, comm, request);
        });
}

DTRAIN_RECORDED(Scatterv);
int MPI_Scatterv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                 void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scatterv",
                       .where = of_comm(comm),
                       .elements = Elements::differ(receive == MPI_IN_PLACE ? send_type : receive_type),
                       .root = root},
        [&] {
            return mpi_library::Scatterv(send, send_counts, send_offsets, send_type, receive, receive_count,
                                         receive_type, root, comm);
        });
}

DTRAIN_RECORDED(Iscatterv);
int MPI_Iscatterv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                  void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscatterv",
                       .where = of_comm(comm),
                       .elements = Elements::differ(receive == MPI_IN_PLACE ? send_type : receive_type),
                       .root = root},
        request, [&] {
            return mpi_library::Iscatterv(send, send_counts, send_offsets, send_type, receive, receive_count,
                                          receive_type, root, comm, request);
        });
}

DTRAIN_RECORDED(Allgather);
int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Allgather",
                                   .where = of_comm(comm),
                                   .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                receive_type)},
                    [&] {
                        return mpi_library::Allgather(send, send_count, send_type, receive, receive_count,
                                                      receive_type, comm);
                    });
}

DTRAIN_RECORDED(Iallgather);
int MPI_Iallgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Iallgather",
                                      .where = of_comm(comm),
                                      .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                   receive_type)},
                       request, [&] {
                           return mpi_library::Iallgather(send, send_count, send_type, receive, receive_count,
                                                          receive_type, comm, request);
                       });
}

DTRAIN_RECORDED(Allgatherv);
int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                   const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type,
                   MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Allgatherv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type)},
                    [&] {
                        return mpi_library::Allgatherv(send, send_count, send_type, receive, receive_counts,
                                                       receive_offsets, receive_type, comm);
                    });
}

DTRAIN_RECORDED(Iallgatherv);
int MPI_Iallgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                    const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type,
                    MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Iallgatherv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type)},
                       request, [&] {
                           return mpi_library::Iallgatherv(send, send_count, send_type, receive,
                                                           receive_counts, receive_offsets, receive_type,
                                                           comm, request);
                       });
}

DTRAIN_RECORDED(Alltoall);
int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Alltoall",
                                   .where = of_comm(comm),
                                   .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                receive_type)},
                    [&] {
                        return mpi_library::Alltoall(send, send_count, send_type, receive, receive_count,
                                                     receive_type, comm);
                    });
}

DTRAIN_RECORDED(Ialltoall);
int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoall",
                                      .where = of_comm(comm),
                                      .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                   receive_type)},
                       request, [&] {
                           return mpi_library::Ialltoall(send, send_count, send_type, receive, receive_count,
                                                         receive_type, comm, request);
                       });
}

DTRAIN_RECORDED(Alltoallv);
int MPI_Alltoallv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                  void* receive, const int receive_counts[], const int receive_offsets[],
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Alltoallv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type)},
                    [&] {
                        return mpi_library::Alltoallv(send, send_counts, send_offsets, send_type, receive,
                                                      receive_counts, receive_offsets, receive_type, comm);
                    });
}

DTRAIN_RECORDED(Ialltoallv);
int MPI_Ialltoallv(const void* send, const int send_counts[], const int send_offsets[],
                   MPI_Datatype send_type, void* receive, const int receive_counts[],
                   const int receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoallv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type)},
                       request, [&] {
                           return mpi_library::Ialltoallv(send, send_counts, send_offsets, send_type, receive,
                                                          receive_counts, receive_offsets, receive_type, comm,
                                                          request);
                       });
}

DTRAIN_RECORDED(Alltoallw);
int MPI_Alltoallw(const void* send, const int send_counts[], const int send_offsets[],
                  const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                  const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Alltoallw", .where = of_comm(comm), .elements = Elements::differ(MPI_DATATYPE_NULL)},
        [&] {
            return mpi_library::Alltoallw(send, send_counts, send_offsets, send_types, receive,
                                          receive_counts, receive_offsets, receive_types, comm);
        });
}

DTRAIN_RECORDED(Ialltoallw);
int MPI_Ialltoallw(const void* send, const int send_counts[], const int send_offsets[],
                   const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                   const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoallw",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(MPI_DATATYPE_NULL)},
                       request, [&] {
                           return mpi_library::Ialltoallw(send, send_counts, send_offsets, send_types,
                                                          receive, receive_counts, receive_offsets,
                                                          receive_types, comm, request);
                       });
}
