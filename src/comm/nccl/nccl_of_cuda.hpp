// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/nccl/nccl_module.hpp"

/// The module's entry point, for programs that it is linked into.
extern "C" const dtrain::comm::NcclModule* dtrain_open_nccl();
