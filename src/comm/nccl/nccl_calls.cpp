// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_calls.hpp"

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "comm/api/operation_name.hpp"

namespace dtrain::comm {
namespace {

std::string words_of(cudaError_t error, const char* call) {
    return fmt::format("{} failed: {} ({})", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

/// One group, in which every block is a message.
NcclAnswer exchange(const Call& call, int ranks, ncclComm_t communicator, cudaStream_t stream) {
    const auto block = call.bytes();
    const auto bytes_to = [&](std::size_t rank) {
        return call.send_counts.empty() ? block : call.send_counts[rank];
    };
    const auto bytes_from = [&](std::size_t rank) {
        return call.receive_counts.empty() ? block : call.receive_counts[rank];
    };
    auto result = ncclGroupStart();
    const auto* out = call.send;
    auto* in = call.receive;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto to = bytes_to(static_cast<std::size_t>(rank));
        const auto from = bytes_from(static_cast<std::size_t>(rank));
        if (to > 0 && result == ncclSuccess)
            result = ncclSend(out, to, ncclUint8, rank, communicator, stream);
        if (from > 0 && result == ncclSuccess)
            result = ncclRecv(in, from, ncclUint8, rank, communicator, stream);
        out += to;
        in += from;
    }
    const auto ended = ncclGroupEnd();
    const bool started = result == ncclSuccess || result == ncclInProgress;
    return answer_of(started ? ended : result, "ncclSend and ncclRecv", communicator);
}

}  // namespace

NcclAnswer answer_of(ncclResult_t result, const char* call, ncclComm_t communicator) {
    if (result == ncclSuccess) return {};
    NcclAnswer answer{.state = NcclState::failed, .code = static_cast<int>(result)};
    if (result == ncclInProgress) {
        answer.state = NcclState::in_progress;
        return answer;
    }
    if (result == ncclInvalidArgument) answer.state = NcclState::refused;
    const std::string reason = ncclGetLastError(communicator);
    answer.reason = fmt::format("{} failed: {}{}{}; NCCL_DEBUG=WARN tells more", call,
                                ncclGetErrorString(result), reason.empty() ? "" : ": ", reason);
    return answer;
}

NcclAnswer answer_of(cudaError_t error, const char* call) {
    if (error == cudaSuccess) return {};
    if (error == cudaErrorNotReady) return {.state = NcclState::in_progress};
    return {.state = NcclState::failed, .code = ncclUnhandledCudaError, .reason = words_of(error, call)};
}

void check(cudaError_t error, const char* call) {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // clears the error, which has been reported: later calls must not report it again
    throw NcclError(words_of(error, call));
}

void check(ncclResult_t result, const char* call) {
    if (result != ncclSuccess && result != ncclInProgress)
        throw NcclError(answer_of(result, call, nullptr).reason);
}

ncclDataType_t nccl_type(DataType element) {
    switch (element) {
        case DataType::float32:
            return ncclFloat32;
        case DataType::float64:
            return ncclFloat64;
        case DataType::float16:
            return ncclFloat16;
        case DataType::bfloat16:
            return ncclBfloat16;
        case DataType::int32:
            return ncclInt32;
        case DataType::int64:
            return ncclInt64;
        case DataType::uint8:
            return ncclUint8;
        case DataType::int8:
            return ncclInt8;
        case DataType::uint32:
            return ncclUint32;
        case DataType::uint64:
            return ncclUint64;
        case DataType::int16:
        case DataType::uint16:
            break;
    }
    throw NcclError(fmt::format("NCCL has no {}", to_string(element)));
}

ncclRedOp_t nccl_reduction(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
            return ncclSum;
        case Reduction::average:
            return ncclAvg;
        case Reduction::min:
            return ncclMin;
        case Reduction::max:
            return ncclMax;
        case Reduction::product:
            return ncclProd;
        case Reduction::bit_and:
        case Reduction::bit_or:
        case Reduction::bit_xor:
            break;
    }
    throw NcclError(fmt::format("NCCL has no {}", name_of(reduction)));
}

NcclAnswer issue(const Call& call, int ranks, ncclComm_t communicator, cudaStream_t stream) {
    const auto type = nccl_type(call.element);
    const auto reduction = nccl_reduction(call.reduction);
    switch (call.operation) {
        case Operation::allreduce:
            return answer_of(
                ncclAllReduce(call.send, call.receive, call.count, type, reduction, communicator, stream),
                "ncclAllReduce", communicator);
        case Operation::reduce_scatter:
            return answer_of(
                ncclReduceScatter(call.send, call.receive, call.count, type, reduction, communicator, stream),
                "ncclReduceScatter", communicator);
        case Operation::all_gather:
            return answer_of(ncclAllGather(call.send, call.receive, call.count, type, communicator, stream),
                             "ncclAllGather", communicator);
        case Operation::broadcast:
            return answer_of(
                ncclBroadcast(call.send, call.receive, call.count, type, call.peer, communicator, stream),
                "ncclBroadcast", communicator);
        case Operation::all_to_all:
        case Operation::all_to_allv:
            return exchange(call, ranks, communicator, stream);
        case Operation::send:
            return answer_of(ncclSend(call.send, call.count, type, call.peer, communicator, stream),
                             "ncclSend", communicator);
        case Operation::receive:
            return answer_of(ncclRecv(call.receive, call.count, type, call.peer, communicator, stream),
                             "ncclRecv", communicator);
        default:
            throw NcclError(fmt::format("NCCL has no {}", name_of(call.operation)));
    }
}

}  // namespace dtrain::comm
