// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/nccl/nccl_module.hpp"

namespace dtrain::comm {

/// NcclModule::make_port()
std::unique_ptr<NcclPort> nccl_gpu_port(const NcclPortOptions& options, std::vector<NcclUniqueId> ids);

}  // namespace dtrain::comm
