// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the two commands as the guide has them; a training script may be called "key".
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/rendezvous/key_command.hpp"
#include "support/temporary_folder.hpp"
#include "transport/key_file.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* hex = "00ff02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

TEST(KeyCommand, IsToldFromAScript) {
    EXPECT_TRUE(is_key_command({"key", "show"}));
    EXPECT_TRUE(is_key_command({"key", "install", hex}));
    EXPECT_FALSE(is_key_command({"key"}));
    EXPECT_FALSE(is_key_command({"key", "--lr", "1"}));
    EXPECT_FALSE(is_key_command({"--quiet", "key", "show"}));
}

TEST(KeyCommand, InstallWritesTheKeyThatItIsGiven) {
    const tests::TemporaryFolder folder;
    const Environment environment{{"DTRAIN_KEY_FILE", (folder / "key").string()}};
    EXPECT_EQ(run_key_command({"key", "install", hex}, environment), 0);
    EXPECT_EQ(transport::read_key(folder / "key").to_hex(), hex);
    EXPECT_THROW(run_key_command({"key", "install", "secret"}, environment), UsageError);
    EXPECT_THROW(run_key_command({"key", "install", hex, "more"}, environment), UsageError);
    EXPECT_THROW(run_key_command({"key", "show", "more"}, environment), UsageError);
}

}  // namespace
}  // namespace dtrain::launch
