// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/nn.hpp>

namespace dtrain::nn {

/// Whether the program's DataParallel layers are to average through NCCL: each test program is linked with
/// one way, averages_by_mpi.cpp or averages_by_nccl.cpp.
extern const bool averages_by_nccl;

inline DataParallelOptions parallel_options(DataParallelOptions options = {}) {
    options.nccl = averages_by_nccl;
    return options;
}

}  // namespace dtrain::nn
