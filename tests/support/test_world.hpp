// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// How test_world() is made: a program whose ranks are no MPI ranks changes it before its tests.
inline std::function<Communicator()>& test_world_maker() {
    static std::function<Communicator()> maker = mpi_world;
    return maker;
}

/// All ranks of the test, over one communicator that is made once.
inline const Communicator& test_world() {
    static const Communicator world = test_world_maker()();
    return world;
}

}  // namespace dtrain
