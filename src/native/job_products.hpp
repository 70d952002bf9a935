// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/compute_type.hpp>
#include <dtrain/passes.hpp>

#include "native/job_section.hpp"

/// Keys of [train] that select the element type in which matrix products are computed.
namespace dtrain::native {

/// "matmul".
ComputeType read_products(const Section& train);

/// [train.loss_scale], which applies only to products in float16.
LossScaling read_loss_scaling(const Section& train, ComputeType products);

}  // namespace dtrain::native
