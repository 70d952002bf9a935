// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: signals this process sends itself, and lines that the test writes into its stdin.
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/orders.hpp"

namespace dtrain::worker {
namespace {

using cluster::Order;
using testing::ElementsAre;
using testing::IsEmpty;
using OrderKind = Order::Kind;

/// A stdin that the test writes into, for as long as the object lives.
class OwnStdin {
  public:
    OwnStdin() : before_(::dup(STDIN_FILENO)) {
        auto pipe = Pipe::open();
        ::dup2(pipe.read_end.get(), STDIN_FILENO);
        writer_ = std::move(pipe.write_end);
    }
    OwnStdin(const OwnStdin&) = delete;
    OwnStdin& operator=(const OwnStdin&) = delete;
    ~OwnStdin() { ::dup2(before_.get(), STDIN_FILENO); }

    void write(std::string_view text) const { write_all(writer_.get(), text); }
    void close() { writer_.reset(); }

  private:
    FileDescriptor before_;
    FileDescriptor writer_;
};

TEST(Orders, OfSignals) {
    Orders orders(Orders::Source::signals);
    EXPECT_THAT(orders.take(), IsEmpty());
    ::raise(SIGUSR2);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::pass_on, .signal = SIGUSR2}));
    ::raise(SIGALRM);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::stop}));
    ::raise(SIGALRM);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::leave}));
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
        ::raise(signal);
        EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::end, .signal = signal}));
    }
}

TEST(Orders, OnlyTheParentsAbortAsksForStacks) {
    Orders orders(Orders::Source::signals_of_launcher);
    ::raise(SIGABRT);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::end, .signal = SIGABRT}));
    const pid_t child = ::fork();
    if (child == 0) {
        Orders of_child(Orders::Source::signals_of_launcher);
        ::kill(::getppid(), SIGUSR2);  // it is ready
        if (!of_child.wait(std::chrono::seconds(20))) ::_exit(1);
        ::_exit(of_child.take() == std::vector<Order>{{.kind = OrderKind::show_stacks}} ? 0 : 2);
    }
    ASSERT_TRUE(orders.wait(std::chrono::seconds(20)));
    ::kill(child, SIGABRT);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::pass_on, .signal = SIGUSR2}));
}

TEST(Orders, InAStepUrgTellsOfTheFailureOfAnother) {
    Orders orders(Orders::Source::signals_in_step);
    ::raise(SIGURG);
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::give_way}));
}

TEST(Orders, UserSignalsOfSlurmHaveReachedTheProgramAlready) {
    Orders orders(Orders::Source::signals);
    const pid_t worker = ::getpid();
    const pid_t other = ::fork();
    if (other == 0) {
        ::prctl(PR_SET_NAME, "slurmstepd");
        ::kill(worker, SIGUSR1);
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(orders.wait(std::chrono::seconds(30)));
    EXPECT_THAT(orders.take(), IsEmpty());
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

TEST(Orders, OfLinesAlsoInPieces) {
    OwnStdin input;
    Orders orders(Orders::Source::signals_and_stdin);
    EXPECT_FALSE(orders.wait(std::chrono::milliseconds(1)));
    input.write("sto");
    EXPECT_TRUE(orders.wait(std::chrono::seconds(30)));
    EXPECT_THAT(orders.take(), IsEmpty());
    input.write("p\nnonsense\nsignal 10\nleave\nst");
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::stop},
                                           Order{.kind = OrderKind::pass_on, .signal = SIGUSR1},
                                           Order{.kind = OrderKind::leave}));
}

TEST(Orders, TheEndOfTheLinesIsTheEndOnce) {
    OwnStdin input;
    Orders orders(Orders::Source::signals_and_stdin);
    input.write("stop\n");
    input.close();
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::stop}));
    EXPECT_THAT(orders.take(), ElementsAre(Order{.kind = OrderKind::end, .signal = SIGTERM}));
    EXPECT_FALSE(orders.wait(std::chrono::milliseconds(1)));
    EXPECT_THAT(orders.take(), IsEmpty());
}

TEST(Orders, SilenceIsTheEndToo) {
    using namespace std::chrono_literals;
    OwnStdin input;
    Orders orders(Orders::Source::signals_and_stdin, 200ms);
    for (int sign = 0; sign < 30; ++sign) {
        input.write("alive\n");
        EXPECT_THAT(orders.take(), IsEmpty());
        std::this_thread::sleep_for(10ms);
    }
    while (orders.ms_to_next_poll() >= 0) {
        EXPECT_LE(orders.ms_to_next_poll(), 200);
        std::this_thread::sleep_for(10ms);
        for (const auto& order : orders.take())
            EXPECT_EQ(order, (Order{.kind = OrderKind::end, .signal = SIGTERM}));
    }
    input.write("stop\n");
    EXPECT_THAT(orders.take(), IsEmpty());
}

TEST(Orders, WithoutLinesSilenceMeansNothing) {
    Orders orders(Orders::Source::signals, std::chrono::milliseconds(1));
    EXPECT_EQ(orders.ms_to_next_poll(), -1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_THAT(orders.take(), IsEmpty());
}

TEST(Orders, StdinIsNobodysWithoutTheLaunchersWord) {
    OwnStdin input;
    Orders orders(Orders::Source::signals);
    input.write("stop\n");
    EXPECT_FALSE(orders.wait(std::chrono::milliseconds(1)));
    EXPECT_THAT(orders.take(), IsEmpty());
}

}  // namespace
}  // namespace dtrain::worker
