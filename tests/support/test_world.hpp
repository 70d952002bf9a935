// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>

namespace dtrain {

/// All ranks of the test, over one communicator that is made once.
inline const Communicator& test_world() {
    static const Communicator world = mpi_world();
    return world;
}

}  // namespace dtrain
