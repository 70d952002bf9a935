// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Skips all tests of a program whose executors shall compute on a GPU, where there is none.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "kernels/gpu.hpp"
#include "support/on_gpu.hpp"

namespace {

constexpr int skipped = 77;  // so meson counts it

class GpuIsThere final : public testing::Environment {
  public:
    void SetUp() override {
        if (!dtrain::tests::executors_are_on_a_gpu()) return;
        try {
            dtrain::kernels::open_gpu(0);
        } catch (const dtrain::UsageError& error) {
            std::fprintf(stderr, "skipped: %s\n", error.what());
            std::exit(skipped);
        }
    }
};

[[maybe_unused]] auto* const added = testing::AddGlobalTestEnvironment(new GpuIsThere);

}  // namespace
