// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: slow_end.hpp, with a clock that the tests move and processes whose numbers they know. Why the
// kernel does not end a process is tested with a frozen one in tests/jobs/test_unkillable_ranks.py.
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process_tree.hpp"
#include "worker/slow_end.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

/// A process that stands for a guard, and its children, which only sleep.
class Tree {
  public:
    explicit Tree(int children) {
        guard_ = ::fork();
        if (guard_ == 0) {
            for (int child = 0; child < children; ++child)
                if (::fork() == 0) break;
            for (;;) ::pause();
        }
        while (below().size() < static_cast<std::size_t>(children)) std::this_thread::sleep_for(1ms);
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() {
        for (const auto pid : below()) ::kill(pid, SIGKILL);
        ::kill(guard_, SIGKILL);
        ::waitpid(guard_, nullptr, 0);
    }

    pid_t guard() const { return guard_; }
    std::vector<pid_t> below() const { return descendants_of(guard_); }

  private:
    pid_t guard_ = 0;
};

class SlowEndTest : public testing::Test {
  protected:
    SlowEnd::Clock::time_point now{1h};
    SlowEnd slow_end;
};

TEST_F(SlowEndTest, NamesWhatIsLeftOnceASecondAfterSigkill) {
    const Tree tree(1);
    EXPECT_EQ(slow_end.ms_to_warning(now), -1) << "nobody has asked the program to end";
    EXPECT_EQ(slow_end.warning(tree.guard(), now), "");
    slow_end.begin(10s, now);
    slow_end.begin(10s, now + 5s);
    EXPECT_EQ(slow_end.ms_to_warning(now), 11'000);
    EXPECT_EQ(slow_end.warning(tree.guard(), now + 10'999ms), "");
    const auto text = slow_end.warning(tree.guard(), now + 11s);
    EXPECT_THAT(text, StartsWith("process " + std::to_string(tree.below().at(0)) + " ("));
    EXPECT_THAT(text, HasSubstr(") has not ended 1 s after SIGKILL"));
    EXPECT_EQ(slow_end.warning(tree.guard(), now + 12s), "") << "once";
    EXPECT_EQ(slow_end.ms_to_warning(now + 12s), -1);
}

TEST_F(SlowEndTest, IsSilentIfNothingIsLeft) {
    const Tree tree(0);
    slow_end.begin(0s, now);
    EXPECT_EQ(slow_end.warning(tree.guard(), now + 1s), "");
}

TEST_F(SlowEndTest, CountsWhatIsLeft) {
    const Tree tree(5);
    slow_end.begin(0s, now);
    EXPECT_THAT(slow_end.warning(tree.guard(), now + 1s), testing::EndsWith("; and 2 more"));
}

}  // namespace
}  // namespace dtrain::worker
