// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/operation_trace.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <dtrain/data_type.hpp>

#include "comm/api/operation_name.hpp"
#include "trace/rank_ranges.hpp"

namespace dtrain::comm {
namespace {

thread_local std::uint16_t source_of_thread = 0;

/// How many communicators of these ranks this process has made before.
int count_of(std::span<const int> job_ranks) {
    static std::mutex mutex;
    static std::map<std::vector<int>, int> made;
    const std::lock_guard lock(mutex);
    return ++made[{job_ranks.begin(), job_ranks.end()}];
}

trace::OperationKind kind_of(Operation operation) {
    switch (operation) {
        case Operation::send:
            return trace::OperationKind::send;
        case Operation::receive:
            return trace::OperationKind::receive;
        case Operation::receive_any:
            return trace::OperationKind::receive_any;
        default:
            return trace::OperationKind::collective;
    }
}

bool reduces(Operation operation) {
    return operation == Operation::allreduce || operation == Operation::reduce_scatter ||
           operation == Operation::reduce_shards;
}

bool has_peer(Operation operation) {
    return operation == Operation::broadcast || operation == Operation::send ||
           operation == Operation::receive;
}

}  // namespace

OperationTrace::OperationTrace(int rank, std::span<const int> job_ranks, std::string_view over)
    : log_(trace::OperationLog::of_this_process()) {
    if (log_ == nullptr) return;
    const auto name = group_name(job_ranks, count_of(job_ranks));
    group_ = log_->group(over.empty() ? name : fmt::format("{} over {}", name, over), rank,
                         static_cast<int>(job_ranks.size()), job_ranks);
}

void OperationTrace::name_group(std::string_view name) {
    if (log_ != nullptr) log_->name_group(group_, name);
}

template <class Enum>
std::uint16_t OperationTrace::text_of(Enum value, Texts& texts) {
    auto& index = texts.at(static_cast<std::size_t>(value));
    if (index == 0) {
        if constexpr (std::is_same_v<Enum, DataType>)
            index = log_->text(to_string(value));
        else
            index = log_->text(name_of(value));
    }
    return index;
}

trace::BegunOperation OperationTrace::operation_of(const Call& call, std::uint64_t number) {
    const bool has_data = call.operation != Operation::barrier;
    const bool may_differ =
        !has_data || call.operation == Operation::all_to_allv || call.operation == Operation::receive_any;
    return {.kind = kind_of(call.operation),
            .group = group_,
            .number = number,
            .name = text_of(call.operation, operations_),
            .type = has_data ? text_of(call.element, types_) : std::uint16_t{0},
            .reduction = reduces(call.operation) ? text_of(call.reduction, reductions_) : std::uint16_t{0},
            .source = source_of_thread,
            .count = may_differ ? trace::unknown_count : call.count,
            .peer = has_peer(call.operation) ? call.peer : -1,
            .tag = call.tag};
}

trace::ScopedOperation OperationTrace::free(std::uint64_t number) {
    return waited_for(trace::OperationKind::collective, "free", number);
}

trace::ScopedOperation OperationTrace::wait_for_gpu(std::uint64_t number) {
    return waited_for(trace::OperationKind::own_gpu, "own GPU before operation", number);
}

trace::ScopedOperation OperationTrace::waited_for(trace::OperationKind kind, std::string_view name,
                                                  std::uint64_t number) {
    if (log_ == nullptr) return {};
    trace::ScopedOperation operation(*log_, {.kind = kind,
                                             .group = group_,
                                             .number = number,
                                             .name = log_->text(name),
                                             .source = source_of_thread,
                                             .count = trace::unknown_count});
    operation.waits();
    return operation;
}

TraceOfJob::TraceOfJob(Of which, const Environment& environment)
    : operation_([&]() -> trace::ScopedOperation {
          auto* const log = trace::OperationLog::of_this_process();
          const auto rank = environment.get_int("RANK"), size = environment.get_int("WORLD_SIZE");
          if (log == nullptr || !rank || !size) return {};
          return {*log,
                  {.group = log->group("the job", static_cast<int>(*rank), static_cast<int>(*size)),
                   .number = static_cast<std::uint64_t>(which),
                   .name = log->text(which == Of::start ? "init" : "finish"),
                   .source = source_of_thread,
                   .count = trace::unknown_count}};
      }()) {
    if (which == Of::end) operation_.waits();
}

void note_source(std::string_view line) {
    auto* const log = trace::OperationLog::of_this_process();
    source_of_thread = log == nullptr ? 0 : log->text(line);
}

std::string group_name(std::span<const int> job_ranks, int nth) {
    return trace::named_ranks(job_ranks) + (nth == 1 ? "" : fmt::format(" ({})", nth));
}

}  // namespace dtrain::comm
