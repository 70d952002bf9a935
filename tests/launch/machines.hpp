// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/topology.hpp>

/// Machines as values, for plans.
namespace dtrain::launch::machines {

/// Two sockets of 16 cores with two hardware threads each: socket 0 has processors 0-15,32-47, socket 1 has
/// 16-31,48-63; each one memory node and one InfiniBand adapter (mlx5_0, mlx5_1). No GPU.
topology::Machine two_sockets();

/// The same with GPUs 0-3 on socket 0 and 4-7 on socket 1; the UUID of GPU i begins with "GPU-<i>".
topology::Machine eight_gpus();

/// The same with GPU 0 divided into MIG-a1 and MIG-b2.
topology::Machine eight_gpus_first_divided();

/// Two cores, one memory node, nothing else.
topology::Machine laptop();

}  // namespace dtrain::launch::machines
