// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// With mpi_main: fails. test_mpi_main.py looks at how.
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace dtrain {
namespace {

TEST(OneRank, Throws) {
    if (test_world().rank() == test_world().size() - 1) throw std::runtime_error("its own words");
    test_world().barrier();
}

}  // namespace
}  // namespace dtrain
