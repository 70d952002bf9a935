// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Skips all tests of a program under mpirun where DTRAIN_GPU_MODULE finds no GPU; the stand-in always has
// one.
#include <dtrain/error.hpp>

#include "kernels/gpu.hpp"
#include "support/precondition.hpp"

namespace {

std::optional<std::string> why_no_gpu() {
    try {
        dtrain::kernels::open_gpu(0);
        return std::nullopt;
    } catch (const dtrain::UsageError& error) {
        return error.what();
    }
}

[[maybe_unused]] const bool added = (dtrain::tests::precondition() = why_no_gpu, true);

}  // namespace
