// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Whether two names denote the same device. Several partitions ("MIG-...") of one GPU are different devices.
inline bool is_same_device(const VisibleGpu& a, const VisibleGpu& b) {
    if (a.id == b.id) return true;
    const bool partition = a.id.starts_with("MIG") || b.id.starts_with("MIG");
    return !partition && a.index && a.index == b.index;
}

}  // namespace dtrain::topology
