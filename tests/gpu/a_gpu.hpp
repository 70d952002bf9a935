// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "kernels/gpu.hpp"

namespace dtrain::tests {

/// A test on the GPU, or the stand-in, of the module that is asked for. Skips where there is none.
class OnAGpu : public testing::Test {
  protected:
    void SetUp() override {
        static std::shared_ptr<kernels::Gpu> opened;
        static std::string reason;
        if (!opened && reason.empty()) {
            try {
                opened = kernels::open_gpu(0);
            } catch (const UsageError& error) {
                reason = error.what();
            }
        }
        if (!opened) GTEST_SKIP() << reason;
        gpu = opened;
    }

    std::shared_ptr<kernels::Gpu> gpu;
};

}  // namespace dtrain::tests
