// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace dtrain::tests {

/// What all tests of a program under mpirun need of the machine: says why they cannot run here.
using Precondition = std::optional<std::string> (*)();

/// mpi_main.cpp asks it once MPI runs, and all ranks skip when one has a reason. Null: they need nothing.
inline Precondition& precondition() {
    static Precondition condition = nullptr;
    return condition;
}

}  // namespace dtrain::tests
