// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rule of the header; placeholders as perf, Nsight Systems and Valgrind document theirs.
#include <gtest/gtest.h>

#include "worker/wrapper_arg.hpp"

namespace dtrain::worker {
namespace {

TEST(WrapperArg, PlaceholdersOfOursAreFilledIn) {
    struct Case {
        const char* arg;
        const char* filled;
    };
    for (const auto& each :
         {Case{"perf", "perf"}, Case{"", ""}, Case{"perf.%r.data", "perf.12.data"},
          Case{"%h/%r%r", "node7/1212"}, Case{"%q{RANK}.%p", "%q{RANK}.%p"}, Case{"100%", "100%"},
          Case{"%%r", "%%r"}, Case{"%%%r", "%%12"}, Case{"%rank", "12ank"}})
        EXPECT_EQ(wrapper_arg(each.arg, 12, "node7"), each.filled);
}

}  // namespace
}  // namespace dtrain::worker
