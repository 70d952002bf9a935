// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>

namespace dtrain::tests {

/// All parameters, number by number.
inline void expect_near(const State& given, const State& expected, double tolerance) {
    for (const auto& tensor : expected.tensors()) {
        if (tensor.role != Role::parameter) continue;
        const auto wanted = tensor.view.as<float>();
        const auto values = given.find(tensor.name)->view.as<float>();
        for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_NEAR(values[i], wanted[i], tolerance) << tensor.name << ' ' << i;
    }
}

}  // namespace dtrain::tests
