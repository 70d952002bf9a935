// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Only for sources of this directory, and only where CUDA and NCCL were found.
#include <string>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "comm/api/call.hpp"
#include "comm/nccl/nccl_state.hpp"

static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 3),
              "dtrain needs NCCL 2.14.3 or newer: communicators whose calls do not wait");

// Features of newer NCCL versions, if the header that this is compiled with has them.
#define DTRAIN_NCCL_MEMORY (NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1))    // ncclMemAlloc, ncclCommRegister
#define DTRAIN_NCCL_SCALABLE (NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 4))  // ncclCommInitRankScalable
#define DTRAIN_NCCL_NAMES (NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3))     // commName

// The oldest library version that has all features in use.
#define DTRAIN_NCCL_NEEDED                           \
    (DTRAIN_NCCL_NAMES      ? NCCL_VERSION(2, 27, 3) \
     : DTRAIN_NCCL_SCALABLE ? NCCL_VERSION(2, 23, 4) \
     : DTRAIN_NCCL_MEMORY   ? NCCL_VERSION(2, 19, 1) \
                            : NCCL_VERSION(2, 14, 3))

namespace dtrain::comm {

/// @param communicator may be null
NcclAnswer answer_of(ncclResult_t result, const char* call, ncclComm_t communicator);
NcclAnswer answer_of(cudaError_t error, const char* call);

/// @throws NcclError if `error` is not success
void check(cudaError_t error, const char* call);
void check(ncclResult_t result, const char* call);

/// Both throw NcclError for what NCCL does not have.
ncclDataType_t nccl_type(DataType element);
ncclRedOp_t nccl_reduction(Reduction reduction);

/// Passes a call to NCCL. all_to_all and all_to_allv become a group of messages. @throws NcclError for an
/// operation that NCCL does not have
NcclAnswer issue(const Call& call, int ranks, ncclComm_t communicator, cudaStream_t stream);

}  // namespace dtrain::comm
