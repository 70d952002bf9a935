// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/compute_type.hpp>
#include <dtrain/device.hpp>

#include "native/console.hpp"

namespace dtrain::native {

/// The element type in which all these ranks multiply: the one that the job wants, or float32 (with one line
/// on the console) if the CPU of any of them does not support it. GPUs support all. Collective.
ComputeType agreed_products(ComputeType wanted, const Device& device, const Communicator& ranks,
                            const Console& console);

}  // namespace dtrain::native
