// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
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

int MPI_Barrier(MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Barrier", .where = of_comm(comm)},
                    [&] { return PMPI_Barrier(comm); });
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ibarrier", .where = of_comm(comm)}, request,
                       [&] { return PMPI_Ibarrier(comm, request); });
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Bcast", .where = of_comm(comm), .elements = {count, type}, .root = root},
        [&] { return PMPI_Bcast(data, count, type, root, comm); });
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Ibcast", .where = of_comm(comm), .elements = {count, type}, .root = root},
        request, [&] { return PMPI_Ibcast(data, count, type, root, comm, request); });
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Reduce", .where = of_comm(comm), .elements = {count, type}, .op = op, .root = root},
        [&] { return PMPI_Reduce(send, receive, count, type, op, root, comm); });
}

int MPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_Ireduce", .where = of_comm(comm), .elements = {count, type}, .op = op, .root = root},
        request, [&] { return PMPI_Ireduce(send, receive, count, type, op, root, comm, request); });
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Allreduce", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return PMPI_Allreduce(send, receive, count, type, op, comm); });
}

int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iallreduce", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return PMPI_Iallreduce(send, receive, count, type, op, comm, request); });
}

int MPI_Reduce_scatter(const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Reduce_scatter",
                                   .where = of_comm(comm),
                                   .elements = Elements::differ(type),
                                   .op = op},
                    [&] { return PMPI_Reduce_scatter(send, receive, counts, type, op, comm); });
}

int MPI_Ireduce_scatter(const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ireduce_scatter",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(type),
                                      .op = op},
                       request,
                       [&] { return PMPI_Ireduce_scatter(send, receive, counts, type, op, comm, request); });
}

int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Reduce_scatter_block", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return PMPI_Reduce_scatter_block(send, receive, count, type, op, comm); });
}

int MPI_Ireduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_Ireduce_scatter_block", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return PMPI_Ireduce_scatter_block(send, receive, count, type, op, comm, request); });
}

int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return PMPI_Scan(send, receive, count, type, op, comm); });
}

int MPI_Iscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return PMPI_Iscan(send, receive, count, type, op, comm, request); });
}

int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Exscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        [&] { return PMPI_Exscan(send, receive, count, type, op, comm); });
}

int MPI_Iexscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iexscan", .where = of_comm(comm), .elements = {count, type}, .op = op},
        request, [&] { return PMPI_Iexscan(send, receive, count, type, op, comm, request); });
}

int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Gather",
                       .where = of_comm(comm),
                       .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type),
                       .root = root},
        [&] {
            return PMPI_Gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
        });
}

int MPI_Igather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Igather",
                       .where = of_comm(comm),
                       .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type),
                       .root = root},
        request, [&] {
            return PMPI_Igather(send, send_count, send_type, receive, receive_count, receive_type, root, comm,
                                request);
        });
}

int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type, int root,
                MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Gatherv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type),
                                   .root = root},
                    [&] {
                        return PMPI_Gatherv(send, send_count, send_type, receive, receive_counts,
                                            receive_offsets, receive_type, root, comm);
                    });
}

int MPI_Igatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                 const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type, int root,
                 MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Igatherv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type),
                                      .root = root},
                       request, [&] {
                           return PMPI_Igatherv(send, send_count, send_type, receive, receive_counts,
                                                receive_offsets, receive_type, root, comm, request);
                       });
}

int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scatter",
                       .where = of_comm(comm),
                       .elements = scattered(receive, send_count, send_type, receive_count, receive_type),
                       .root = root},
        [&] {
            return PMPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type, root,
                                comm);
        });
}

int MPI_Iscatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscatter",
                       .where = of_comm(comm),
                       .elements = scattered(receive, send_count, send_type, receive_count, receive_type),
                       .root = root},
        request, [&] {
            return PMPI_Iscatter(send, send_count, send_type, receive, receive_count, receive_type, root,
                                 comm, request);
        });
}

int MPI_Scatterv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                 void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return blocking(
        CollectiveCall{.name = "MPI_Scatterv",
                       .where = of_comm(comm),
                       .elements = Elements::differ(receive == MPI_IN_PLACE ? send_type : receive_type),
                       .root = root},
        [&] {
            return PMPI_Scatterv(send, send_counts, send_offsets, send_type, receive, receive_count,
                                 receive_type, root, comm);
        });
}

int MPI_Iscatterv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                  void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
    return nonblocking(
        CollectiveCall{.name = "MPI_Iscatterv",
                       .where = of_comm(comm),
                       .elements = Elements::differ(receive == MPI_IN_PLACE ? send_type : receive_type),
                       .root = root},
        request, [&] {
            return PMPI_Iscatterv(send, send_counts, send_offsets, send_type, receive, receive_count,
                                  receive_type, root, comm, request);
        });
}

int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Allgather",
            .where = of_comm(comm),
            .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type)},
        [&] {
            return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
        });
}

int MPI_Iallgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Iallgather",
                                      .where = of_comm(comm),
                                      .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                   receive_type)},
                       request, [&] {
                           return PMPI_Iallgather(send, send_count, send_type, receive, receive_count,
                                                  receive_type, comm, request);
                       });
}

int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                   const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type,
                   MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Allgatherv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type)},
                    [&] {
                        return PMPI_Allgatherv(send, send_count, send_type, receive, receive_counts,
                                               receive_offsets, receive_type, comm);
                    });
}

int MPI_Iallgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                    const int receive_counts[], const int receive_offsets[], MPI_Datatype receive_type,
                    MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Iallgatherv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type)},
                       request, [&] {
                           return PMPI_Iallgatherv(send, send_count, send_type, receive, receive_counts,
                                                   receive_offsets, receive_type, comm, request);
                       });
}

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Alltoall",
            .where = of_comm(comm),
            .elements = sent_or_in_place(send, send_count, send_type, receive_count, receive_type)},
        [&] {
            return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
        });
}

int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoall",
                                      .where = of_comm(comm),
                                      .elements = sent_or_in_place(send, send_count, send_type, receive_count,
                                                                   receive_type)},
                       request, [&] {
                           return PMPI_Ialltoall(send, send_count, send_type, receive, receive_count,
                                                 receive_type, comm, request);
                       });
}

int MPI_Alltoallv(const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
                  void* receive, const int receive_counts[], const int receive_offsets[],
                  MPI_Datatype receive_type, MPI_Comm comm) {
    return blocking(CollectiveCall{.name = "MPI_Alltoallv",
                                   .where = of_comm(comm),
                                   .elements = differ_or_in_place(send, send_type, receive_type)},
                    [&] {
                        return PMPI_Alltoallv(send, send_counts, send_offsets, send_type, receive,
                                              receive_counts, receive_offsets, receive_type, comm);
                    });
}

int MPI_Ialltoallv(const void* send, const int send_counts[], const int send_offsets[],
                   MPI_Datatype send_type, void* receive, const int receive_counts[],
                   const int receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoallv",
                                      .where = of_comm(comm),
                                      .elements = differ_or_in_place(send, send_type, receive_type)},
                       request, [&] {
                           return PMPI_Ialltoallv(send, send_counts, send_offsets, send_type, receive,
                                                  receive_counts, receive_offsets, receive_type, comm,
                                                  request);
                       });
}

int MPI_Alltoallw(const void* send, const int send_counts[], const int send_offsets[],
                  const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                  const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm) {
    return blocking(
        CollectiveCall{
            .name = "MPI_Alltoallw", .where = of_comm(comm), .elements = Elements::differ(MPI_DATATYPE_NULL)},
        [&] {
            return PMPI_Alltoallw(send, send_counts, send_offsets, send_types, receive, receive_counts,
                                  receive_offsets, receive_types, comm);
        });
}

int MPI_Ialltoallw(const void* send, const int send_counts[], const int send_offsets[],
                   const MPI_Datatype send_types[], void* receive, const int receive_counts[],
                   const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm,
                   MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Ialltoallw",
                                      .where = of_comm(comm),
                                      .elements = Elements::differ(MPI_DATATYPE_NULL)},
                       request, [&] {
                           return PMPI_Ialltoallw(send, send_counts, send_offsets, send_types, receive,
                                                  receive_counts, receive_offsets, receive_types, comm,
                                                  request);
                       });
}
