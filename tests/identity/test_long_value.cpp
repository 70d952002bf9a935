// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the kernel's limit of 128 KiB for one string (execve(2), MAX_ARG_STRLEN); what is set comes back.
#include <gtest/gtest.h>

#include "identity/long_value.hpp"

namespace dtrain::cluster {
namespace {

constexpr std::size_t kernels_limit = 128 * 1024;

TEST(LongValue, ComesBackWhateverItsLength) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, max_value - 1, max_value, max_value + 1,
                                   2 * max_value, 5 * max_value + 7}) {
        std::string value(size, 'x');
        for (std::size_t at = 0; at < size; ++at) value[at] = static_cast<char>('a' + at % 23);
        Environment environment{{"NAME_2", "stale"}};
        set_long(environment, "NAME", value);
        EXPECT_EQ(get_long(environment, "NAME"), value) << size;
        for (const auto& text : environment.to_strings()) EXPECT_LT(text.size(), kernels_limit) << size;
    }
    EXPECT_EQ(get_long({}, "NAME"), std::nullopt);
}

TEST(LongValue, ShortOnesAreOrdinaryVariables) {
    Environment environment;
    set_long(environment, "NAME", "short");
    EXPECT_EQ(environment, (Environment{{"NAME", "short"}}));
}

TEST(LongValue, LeavesNothingBehind) {
    Environment environment{{"OTHER", "1"}};
    set_long(environment, "NAME", std::string(3 * max_value, 'x'));
    environment.unset("NAME");
    unset_continuations(environment, "NAME");
    EXPECT_EQ(environment, (Environment{{"OTHER", "1"}}));
}

}  // namespace
}  // namespace dtrain::cluster
