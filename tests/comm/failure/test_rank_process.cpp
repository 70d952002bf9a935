// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what became of a child of this process.
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "comm/failure/rank_process.hpp"

namespace dtrain::comm {
namespace {

/// A child, which waits for its end.
struct Child {
    RankProcess process;
    pid_t pid = 0;

    Child() {
        const auto pipe = Pipe::open();
        pid = ::fork();
        if (pid == 0) {
            const auto own = own_rank_process();
            (void)!::write(pipe.write_end.get(), &own, sizeof(own));
            ::pause();
            ::_exit(0);
        }
        (void)!::read(pipe.read_end.get(), &process, sizeof(process));
    }
};

TEST(RankProcess, OfThisProcessHasNotEnded) {
    EXPECT_EQ(own_rank_process().pid, ::getpid());
    EXPECT_FALSE(has_ended(own_rank_process()));
}

TEST(RankProcess, HasEndedWhenItIsAZombieAndAfterwards) {
    const Child child;
    EXPECT_FALSE(has_ended(child.process));
    ::kill(child.pid, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(has_ended(child.process)) << "a zombie";
    ::waitpid(child.pid, nullptr, 0);
    EXPECT_TRUE(has_ended(child.process));
    EXPECT_EQ(ended_text(child.process), "its process, " + std::to_string(child.pid) + ", has ended");
}

TEST(RankProcess, IsNotAnotherOneThatHasItsPidLater) {
    auto earlier = own_rank_process();
    --earlier.start_time;
    EXPECT_TRUE(has_ended(earlier));
}

TEST(RankProcess, OfAnotherContainerIsUnknown) {
    auto elsewhere = own_rank_process();
    --elsewhere.start_time;
    ++elsewhere.pid_namespace;
    EXPECT_FALSE(has_ended(elsewhere));
    elsewhere.pid_namespace = 0;
    EXPECT_FALSE(has_ended(elsewhere));
}

}  // namespace
}  // namespace dtrain::comm
