// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

namespace {

template <class Run>
[[gnu::always_inline]] inline int making_communicator(const CollectiveCall& call, MPI_Comm parent,
                                                      const MPI_Comm* made, const Run& run) {
    return making(call, run, [&](Recorder& recorder) { recorder.groups.add_child(parent, *made); });
}

}  // namespace

DTRAIN_RECORDED(Comm_dup);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Comm_dup", .where = of_comm(comm)}, comm, made,
                               [&] { return mpi_library::Comm_dup(comm, made); });
}

DTRAIN_RECORDED(Comm_dup_with_info);
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Comm_dup_with_info", .where = of_comm(comm)}, comm,
                               made, [&] { return mpi_library::Comm_dup_with_info(comm, info, made); });
}

DTRAIN_RECORDED(Comm_create);
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Comm_create", .where = of_comm(comm)}, comm, made,
                               [&] { return mpi_library::Comm_create(comm, group, made); });
}

DTRAIN_RECORDED(Comm_split);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Comm_split", .where = of_comm(comm)}, comm, made,
                               [&] { return mpi_library::Comm_split(comm, color, key, made); });
}

DTRAIN_RECORDED(Comm_split_type);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Comm_split_type", .where = of_comm(comm)}, comm,
                               made,
                               [&] { return mpi_library::Comm_split_type(comm, type, key, info, made); });
}

DTRAIN_RECORDED(Cart_create);
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                    MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Cart_create", .where = of_comm(comm)}, comm, made,
        [&] { return mpi_library::Cart_create(comm, dimensions, sizes, periods, reorder, made); });
}

DTRAIN_RECORDED(Cart_sub);
int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
    return making_communicator(CollectiveCall{.name = "MPI_Cart_sub", .where = of_comm(comm)}, comm, made,
                               [&] { return mpi_library::Cart_sub(comm, remaining, made); });
}

DTRAIN_RECORDED(Graph_create);
int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Graph_create", .where = of_comm(comm)}, comm, made,
        [&] { return mpi_library::Graph_create(comm, nodes, index, edges, reorder, made); });
}

DTRAIN_RECORDED(Dist_graph_create);
int MPI_Dist_graph_create(MPI_Comm comm, int nodes, const int sources[], const int degrees[],
                          const int destinations[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Dist_graph_create", .where = of_comm(comm)}, comm, made, [&] {
            return mpi_library::Dist_graph_create(comm, nodes, sources, degrees, destinations, weights, info,
                                                  reorder, made);
        });
}

DTRAIN_RECORDED(Dist_graph_create_adjacent);
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                   const int source_weights[], int outdegree, const int destinations[],
                                   const int destination_weights[], MPI_Info info, int reorder,
                                   MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Dist_graph_create_adjacent", .where = of_comm(comm)}, comm, made, [&] {
            return mpi_library::Dist_graph_create_adjacent(comm, indegree, sources, source_weights, outdegree,
                                                           destinations, destination_weights, info, reorder,
                                                           made);
        });
}

DTRAIN_RECORDED(Intercomm_create);
int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag,
                         MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Intercomm_create", .where = of_comm(comm)}, comm, made,
        [&] { return mpi_library::Intercomm_create(comm, leader, peers, remote_leader, tag, made); });
}

DTRAIN_RECORDED(Comm_spawn);
int MPI_Comm_spawn(const char* command, char* arguments[], int processes, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm* made, int errors[]) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Comm_spawn", .where = of_comm(comm), .root = root}, comm, made, [&] {
            return mpi_library::Comm_spawn(command, arguments, processes, info, root, comm, made, errors);
        });
}

DTRAIN_RECORDED(Comm_spawn_multiple);
int MPI_Comm_spawn_multiple(int count, char* commands[], char** arguments[], const int processes[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* made, int errors[]) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Comm_spawn_multiple", .where = of_comm(comm), .root = root}, comm, made,
        [&] {
            return mpi_library::Comm_spawn_multiple(count, commands, arguments, processes, infos, root, comm,
                                                    made, errors);
        });
}

DTRAIN_RECORDED(Comm_accept);
int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Comm_accept", .where = of_comm(comm), .root = root}, comm, made,
        [&] { return mpi_library::Comm_accept(port, info, root, comm, made); });
}

DTRAIN_RECORDED(Comm_connect);
int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    return making_communicator(
        CollectiveCall{.name = "MPI_Comm_connect", .where = of_comm(comm), .root = root}, comm, made,
        [&] { return mpi_library::Comm_connect(port, info, root, comm, made); });
}

DTRAIN_RECORDED(Comm_idup);
// Known only when it is complete, so that the new communicator gets a name from its ranks.
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    return nonblocking(CollectiveCall{.name = "MPI_Comm_idup", .where = of_comm(comm)}, request,
                       [&] { return mpi_library::Comm_idup(comm, made, request); });
}

DTRAIN_RECORDED(Comm_create_group);
/// Only the ranks of the new communicator call it.
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    return making(
        OtherCall{.name = "MPI_Comm_create_group", .where = of_comm(comm)},
        [&] { return mpi_library::Comm_create_group(comm, group, tag, made); },
        [&](Recorder& recorder) { recorder.groups.add_by_ranks("group " + std::to_string(tag), *made); });
}

DTRAIN_RECORDED(Intercomm_merge);
/// Two groups become one, which has the name of neither.
int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
    return making(
        CollectiveCall{.name = "MPI_Intercomm_merge", .where = of_comm(comm)},
        [&] { return mpi_library::Intercomm_merge(comm, high, made); },
        [&](Recorder& recorder) { recorder.groups.add_by_ranks("merged", *made); });
}

DTRAIN_RECORDED(Comm_free);
int MPI_Comm_free(MPI_Comm* comm) {
    return freeing(CollectiveCall{.name = "MPI_Comm_free", .where = of_comm(*comm)},
                   [&] { return mpi_library::Comm_free(comm); });
}

DTRAIN_RECORDED(Comm_disconnect);
int MPI_Comm_disconnect(MPI_Comm* comm) {
    return freeing(CollectiveCall{.name = "MPI_Comm_disconnect", .where = of_comm(*comm)},
                   [&] { return mpi_library::Comm_disconnect(comm); });
}

DTRAIN_RECORDED(Comm_set_name);
int MPI_Comm_set_name(MPI_Comm comm, const char* name) {
    auto* const recorder = Recorder::of_this_call();
    const int result = mpi_library::Comm_set_name(comm, name);
    if (recorder != nullptr && result == MPI_SUCCESS) recorder->groups.set_name(comm, name);
    return result;
}
