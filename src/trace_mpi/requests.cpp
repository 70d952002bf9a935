// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/requests.hpp"

#include "trace_mpi/handle_table.hpp"

namespace dtrain::trace_mpi {

void Requests::add(MPI_Request request, const Pending& pending) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    auto& known = shard.pending[key];
    log_.end(known.ticket);
    known = pending;
}

Pending Requests::of(MPI_Request request) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.pending.find(key);
    return known == shard.pending.end() ? Pending() : known->second;
}

Pending Requests::waits(MPI_Request request) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.pending.find(key);
    if (known == shard.pending.end()) return {};
    auto& pending = known->second;
    if (!log_.waits(pending.ticket)) {
        pending.ticket = log_.begin(pending.operation);
        log_.waits(pending.ticket);
    }
    return pending;
}

void Requests::end(MPI_Request request, trace::OperationLog::Ticket ticket) {
    if (ticket == 0) return;
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.pending.find(key);
    if (known == shard.pending.end() || known->second.ticket != ticket) return;
    shard.pending.erase(known);
    log_.end(ticket);
}

void Requests::add_persistent(MPI_Request request, const trace::BegunOperation& operation) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    shard.persistent[key] = operation;
}

std::optional<trace::BegunOperation> Requests::persistent(MPI_Request request) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.persistent.find(key);
    if (known == shard.persistent.end()) return std::nullopt;
    return known->second;
}

void Requests::remove_persistent(MPI_Request request) {
    const auto key = key_of(request);
    auto& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    shard.persistent.erase(key);
}

}  // namespace dtrain::trace_mpi
