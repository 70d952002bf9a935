// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/compute_type.hpp>
#include <dtrain/device.hpp>

#include "worker/native/console.hpp"

namespace dtrain::native {

/// What all these ranks multiply: what the job wants, or float32 where the CPU of any of them cannot, which
/// is said in one line. GPUs can. Collective.
ComputeType agreed_products(ComputeType wanted, const Device& device, const Communicator& ranks,
                            const Console& console);

}  // namespace dtrain::native
