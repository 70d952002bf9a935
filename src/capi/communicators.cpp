// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include <dtrain/c_api.h>
#include <dtrain/node_communicator.hpp>

#include "capi/guarded.hpp"
#include "capi/session.hpp"
#include "comm/api/backend.hpp"
#include "comm/api/subset.hpp"
#include "comm/mpi/operation_trace.hpp"

namespace dtrain::capi {
namespace {

dtrain_comm group(const Communicator& all, std::span<const int> ranks) {
    comm::check_listed("group", ranks, all.size());
    const auto found = std::ranges::find(ranks, all.rank());
    const bool is_in = found != ranks.end();
    // Those that are not in it form a communicator as well, which ends here.
    auto part = all.split(is_in ? 0 : 1, static_cast<int>(found - ranks.begin()));
    return is_in ? session().add(std::move(part)) : DTRAIN_NO_COMM;
}

}  // namespace
}  // namespace dtrain::capi

using dtrain::capi::guarded;
using dtrain::capi::session;

int dtrain_comm_get_info(dtrain_comm comm, dtrain_comm_info* info) {
    return guarded([&] {
        const auto& of = session().communicator(comm);
        *info = {.rank = of.rank(),
                 .size = of.size(),
                 .node_rank = of.node_rank(),
                 .node_size = of.node_size(),
                 .node = dtrain::comm::backend_of(of)->node(),
                 .nodes = of.nodes()};
    });
}

int dtrain_comm_describe(dtrain_comm comm, char* text, size_t size) {
    return guarded([&] {
        const auto line = session().communicator(comm).describe();
        if (size > 0) text[line.copy(text, size - 1)] = '\0';
    });
}

int dtrain_comm_split(dtrain_comm comm, int color, int key, dtrain_comm* part) {
    return guarded([&] { *part = session().add(session().communicator(comm).split(color, key)); });
}

int dtrain_comm_group(dtrain_comm comm, const int* ranks, size_t count, dtrain_comm* group) {
    return guarded(
        [&] { *group = dtrain::capi::group(session().communicator(comm), std::span(ranks, count)); });
}

int dtrain_comm_of(dtrain_comm parent, const int* ranks, size_t count, int tag, dtrain_comm* group) {
    return guarded(
        [&] { *group = session().add(session().communicator(parent).subset(std::span(ranks, count), tag)); });
}

int dtrain_comm_node_local(dtrain_comm comm, dtrain_comm* node) {
    return guarded([&] { *node = session().add(session().communicator(comm).node_local()); });
}

int dtrain_node_comm_name(char* name, size_t size) {
    return dtrain::capi::without_exceptions([&] {
        const auto fresh = dtrain::node_communicator_name();
        if (size <= fresh.size())
            throw dtrain::UsageError(fmt::format(
                "dtrain_node_comm_name into {} bytes: a name takes {} of them", size, fresh.size() + 1));
        name[fresh.copy(name, size)] = '\0';
    });
}

int dtrain_node_comm(const char* name, int rank, int size, double timeout, dtrain_comm* comm) {
    return guarded([&] {
        auto ranks = dtrain::node_communicator(
            {.name = name, .rank = rank, .size = size, .timeout = std::chrono::duration<double>(timeout)});
        static std::once_flag is_first;
        std::call_once(is_first, dtrain::capi::end_sessions_with_process);
        *comm = dtrain::capi::session_or_new().add(std::move(ranks));
    });
}

int dtrain_comm_set_timeout(dtrain_comm comm, double seconds) {
    return guarded([&] { session().communicator(comm).set_timeout(std::chrono::duration<double>(seconds)); });
}

int dtrain_comm_set_name(dtrain_comm comm, const char* name) {
    return guarded([&] { session().communicator(comm).set_name(name); });
}

int dtrain_records_operations(void) {
    return dtrain::trace::OperationLog::of_this_process() == nullptr ? 0 : 1;
}

int dtrain_note_source(const char* line) {
    return dtrain::capi::without_exceptions([&] { dtrain::comm::note_source(line); });
}

int dtrain_comm_free(dtrain_comm comm) {
    return guarded([&] { session().free(comm); });
}
