// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: tests/storage/released has a checkpoint of every format that was ever released, written by that
// release, and released_checkpoints.hpp has what it was given. So neither may ever change; a new format
// brings a file.
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>

#include "storage/released_checkpoints.hpp"

namespace dtrain::tests {
namespace {

const std::filesystem::path released = DTRAIN_RELEASED;

TEST(ReleasedCheckpoints, Format1Of_0_1) {
    EXPECT_EQ(load_checkpoint(released / "0.1-format-1.h5"), between_epochs());
    EXPECT_EQ(load_checkpoint(released / "0.1-format-1-within.h5"), within_an_epoch());
}

TEST(ReleasedCheckpoints, Format2Of_0_1) {
    EXPECT_EQ(load_checkpoint(released / "0.1-format-2"), within_an_epoch());
}

TEST(ReleasedCheckpoints, Format3Of_0_1) {
    EXPECT_EQ(load_checkpoint(released / "0.1-format-3.h5"), within_an_epoch());
}

}  // namespace
}  // namespace dtrain::tests
