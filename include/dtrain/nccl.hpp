// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/comm_error.hpp>
#include <dtrain/communicator.hpp>

namespace dtrain {

/// NCCL is not built in, refuses an operation, or has failed. After a failure on any rank all waiting ranks
/// throw it, and only shutting down is possible afterwards, as after a CommunicatorTimeout.
class NcclError : public Error {
  public:
    /// @param failed see failed()
    explicit NcclError(const std::string& message, std::vector<MissingRank> failed = {})
        : Error(message), failed_(std::move(failed)) {}

    /// The ranks on which NCCL or the GPU failed, with NCCL's error messages; empty for other errors.
    const std::vector<MissingRank>& failed() const { return failed_; }

  private:
    std::vector<MissingRank> failed_;
};

/// NCCL cannot be used at all: not built in, or some rank has no driver or no such GPU.
class NcclUnavailable : public NcclError {
  public:
    /// Constructed from the message.
    using NcclError::NcclError;
};

/// Options of nccl_communicator(). All but `device` and `stream` are the same on all ranks.
struct NcclOptions {
    /// Name of the communicator in NCCL's log; "" uses the job id (DTRAIN_JOB_ID) and "world".
    std::string name = {};

    /// Number of a GPU that this process sees. None: that of FLAGS_selected_gpus, as set by dtrain-launch
    /// --gpus; without it the only GPU, or the one whose number is this rank's local rank.
    std::optional<int> device = {};

    /// Number of NCCL unique ids used for the rendezvous; 0: one per 256 ranks. More than one requires NCCL
    /// 2.23.4: with an older version 0 means one, and larger values throw NcclError.
    int ids = 0;

    /// A cudaStream_t of `device`: an operation starts after the work that was enqueued there before it. Null
    /// is CUDA's default stream. Operations run in a separate stream, so they overlap with work that is
    /// enqueued here later.
    void* stream = nullptr;

    /// Time limit for ncclCommAbort after a failure.
    std::chrono::milliseconds abort_within{10'000};
};

/// A communicator of the ranks of `over_mpi` whose operations run through NCCL on GPU memory: one rank per
/// GPU. Collective.
///
/// Spans passed to its operations are memory of this rank's GPU (or managed by CUDA) on all ranks, or host
/// memory on all ranks, which goes over MPI. An operation is complete once the GPU has executed it, so that
/// after waiting the result may be used in any stream. Sums have NCCL's order and rounding: float16 and
/// bfloat16 are added in their own precision. Messages have no tags (only tag 0), and are ordered with the
/// other operations; messages that were started are submitted together when one of them is tested or waited
/// for. allocate() returns GPU memory registered with NCCL (ncclMemAlloc, ncclCommRegister), of which a rank
/// can access only its own part. reduce_shards(), receive_any(), the reductions of bits and
/// integers of 16 bits are not supported. split(), subset() and duplicate() return communicators of this
/// kind.
///
/// Deadline and errors are those of `over_mpi` (DTRAIN_COMM_TIMEOUT, CommunicatorTimeout).
/// @throws NcclUnavailable on all ranks: built without CUDA, no GPU for some rank; NcclError: NCCL refuses
Communicator nccl_communicator(const Communicator& over_mpi, const NcclOptions& options = {});

}  // namespace dtrain
