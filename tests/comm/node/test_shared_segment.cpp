// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written at one address is read at the other; whether the system finds the name.
#include <algorithm>

#include <gtest/gtest.h>

#include "comm/node/shared_segment.hpp"

namespace dtrain::comm {
namespace {

constexpr std::size_t size = 100'000;

TEST(SharedSegment, IsSeenByWhoKnowsItsName) {
    const auto made = SharedSegment::make(size);
    ASSERT_NE(made, nullptr);
    ASSERT_EQ(made->bytes().size(), size);
    ASSERT_TRUE(made->provide(0, size));
    const auto found = SharedSegment::find(made->name(), size);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(std::ranges::count(found->bytes(), std::byte{0}), size);
    made->bytes()[70'000] = std::byte{7};
    EXPECT_EQ(found->bytes()[70'000], std::byte{7});
}

TEST(SharedSegment, IsFoundNoMoreAndLastsWhenItIsHidden) {
    auto made = SharedSegment::make(size);
    ASSERT_NE(made, nullptr);
    const auto name = made->name();
    ASSERT_TRUE(made->provide(0, 4096));
    const auto found = SharedSegment::find(name, size);
    made->hide();
    EXPECT_EQ(SharedSegment::find(name, size), nullptr);
    made->bytes()[1] = std::byte{9};
    made.reset();
    EXPECT_EQ(found->bytes()[1], std::byte{9});
}

TEST(SharedSegment, LeavesNoNameBehind) {
    auto made = SharedSegment::make(size);
    ASSERT_NE(made, nullptr);
    const auto name = made->name();
    made.reset();
    EXPECT_EQ(SharedSegment::find(name, size), nullptr);
}

TEST(SharedSegment, HasNoMemoryBehindItsEnd) {
    const auto made = SharedSegment::make(size);
    ASSERT_NE(made, nullptr);
    EXPECT_FALSE(made->provide(size - 10, 11));
    EXPECT_FALSE(made->provide(2 * size, 1));
}

}  // namespace
}  // namespace dtrain::comm
