// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/recorder.hpp"

#include <cstdlib>
#include <mutex>
#include <pthread.h>

namespace dtrain::trace_mpi {
namespace {

using trace::OperationKind;

struct RankAndSize {
    int rank = 0;
    int size = 1;
};

/// As the launcher says, since MPI does not know yet; Open MPI's mpirun, MPICH's and Slurm's.
RankAndSize from_environment() {
    struct Variables {
        const char* rank;
        const char* size;
    };
    for (const auto& names : {Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                              Variables{"PMI_RANK", "PMI_SIZE"}, Variables{"SLURM_PROCID", "SLURM_NTASKS"}}) {
        const char* const rank = std::getenv(names.rank);
        const char* const size = std::getenv(names.size);
        if (rank != nullptr && size != nullptr) return {std::atoi(rank), std::atoi(size)};
    }
    return {};
}

}  // namespace

thread_local constinit int Recorder::depth = 0;
const bool Recorder::is_wanted = Recorder::read_wish();
std::atomic<Recorder*> Recorder::started{nullptr};

bool Recorder::read_wish() {
    const char* const folder = std::getenv(trace::operation_log_variable);
    return folder != nullptr && *folder != '\0';
}

Recorder* Recorder::before_init() {
    if (!is_wanted) return nullptr;
    const auto [rank, size] = from_environment();
    return start(rank, size);
}

/// MPI may have been initialised without this library's knowledge.
Recorder* Recorder::of_this_process() {
    if (auto* const recorder = started.load(std::memory_order_acquire)) return recorder;
    int is_initialized = 0, is_finalized = 0;
    PMPI_Initialized(&is_initialized);
    PMPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0) return nullptr;
    int rank = 0, size = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    auto* const recorder = start(rank, size);
    if (recorder != nullptr) recorder->groups.confirm_world();
    return recorder;
}

Recorder* Recorder::start(int rank, int size) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (auto* const recorder = started.load()) return recorder;
    auto* const log = trace::OperationLog::of_this_process();
    if (log == nullptr) return nullptr;
    // A process that was forked has nothing of its parent's MPI.
    static std::once_flag forks;
    std::call_once(forks, [] { ::pthread_atfork(nullptr, nullptr, [] { started.store(nullptr); }); });
    // Never destroyed: threads may still communicate while the process ends.
    auto* const recorder = new Recorder(*log, rank, size);
    started.store(recorder, std::memory_order_release);
    return recorder;
}

trace::BegunOperation Recorder::describe(const CollectiveCall& call, const void* return_address) {
    auto& group = groups.of(call.where);
    return {.kind = group.is_counted ? OperationKind::collective : OperationKind::other,
            .group = group.index,
            .number = group.is_counted ? ++group.collectives : 0,
            .name = texts.function(call.name),
            .type = texts.type(call.elements.type),
            .reduction = texts.reduction(call.op),
            .source = texts.source(return_address),
            .count = call.elements.count,
            .peer = group.is_inter ? -1 : call.root};
}

trace::BegunOperation Recorder::describe(const MessageCall& call, const void* return_address) {
    const auto& group = groups.of(of_comm(call.comm));
    // Ranks of another group are none of this one's.
    const bool has_peer = group.is_counted && !group.is_inter;
    const bool from_any = call.kind == OperationKind::receive && call.peer == MPI_ANY_SOURCE;
    return {.kind = !has_peer  ? OperationKind::other
                    : from_any ? OperationKind::receive_any
                               : call.kind,
            .group = group.index,
            .name = texts.function(call.name),
            .type = texts.type(call.elements.type),
            .source = texts.source(return_address),
            .count = call.elements.count,
            .peer = has_peer && call.peer >= 0 ? call.peer : -1,
            .tag = call.tag == MPI_ANY_TAG ? -1 : call.tag};
}

trace::BegunOperation Recorder::describe(const OtherCall& call, const void* return_address) {
    return {.kind = OperationKind::other,
            .group = groups.of(call.where).index,
            .name = texts.function(call.name),
            .type = texts.type(call.elements.type),
            .source = texts.source(return_address),
            .count = call.elements.count,
            .peer = call.peer};
}

}  // namespace dtrain::trace_mpi
