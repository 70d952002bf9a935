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

#include "worker/commands.hpp"

namespace dtrain::worker {
namespace {

using cluster::Command;
using testing::ElementsAre;
using testing::IsEmpty;
using CommandKind = Command::Kind;

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

TEST(Commands, OfSignals) {
    Commands commands(Commands::Source::signals);
    EXPECT_THAT(commands.take(), IsEmpty());
    ::raise(SIGUSR2);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::pass_on, .signal = SIGUSR2}));
    ::raise(SIGALRM);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::stop}));
    ::raise(SIGALRM);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::leave}));
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
        ::raise(signal);
        EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::end, .signal = signal}));
    }
}

TEST(Commands, OnlyTheParentsAbortAsksForStacks) {
    Commands commands(Commands::Source::signals_of_launcher);
    ::raise(SIGABRT);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::end, .signal = SIGABRT}));
    const pid_t child = ::fork();
    if (child == 0) {
        Commands of_child(Commands::Source::signals_of_launcher);
        ::kill(::getppid(), SIGUSR2);  // it is ready
        if (!of_child.wait(std::chrono::seconds(20))) ::_exit(1);
        ::_exit(of_child.take() == std::vector<Command>{{.kind = CommandKind::show_stacks}} ? 0 : 2);
    }
    ASSERT_TRUE(commands.wait(std::chrono::seconds(20)));
    ::kill(child, SIGABRT);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::pass_on, .signal = SIGUSR2}));
}

TEST(Commands, InAStepUrgTellsOfTheFailureOfAnother) {
    Commands commands(Commands::Source::signals_in_step);
    ::raise(SIGURG);
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::give_way}));
}

TEST(Commands, UserSignalsOfSlurmHaveReachedTheProgramAlready) {
    Commands commands(Commands::Source::signals);
    const pid_t worker = ::getpid();
    const pid_t other = ::fork();
    if (other == 0) {
        ::prctl(PR_SET_NAME, "slurmstepd");
        ::kill(worker, SIGUSR1);
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(commands.wait(std::chrono::seconds(30)));
    EXPECT_THAT(commands.take(), IsEmpty());
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
}

TEST(Commands, OfLinesAlsoInPieces) {
    OwnStdin input;
    Commands commands(Commands::Source::signals_and_stdin);
    EXPECT_FALSE(commands.wait(std::chrono::milliseconds(1)));
    input.write("sto");
    EXPECT_TRUE(commands.wait(std::chrono::seconds(30)));
    EXPECT_THAT(commands.take(), IsEmpty());
    input.write("p\nnonsense\nsignal 10\nleave\nst");
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::stop},
                                             Command{.kind = CommandKind::pass_on, .signal = SIGUSR1},
                                             Command{.kind = CommandKind::leave}));
}

TEST(Commands, TheEndOfTheLinesIsTheEndOnce) {
    OwnStdin input;
    Commands commands(Commands::Source::signals_and_stdin);
    input.write("stop\n");
    input.close();
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::stop}));
    EXPECT_THAT(commands.take(), ElementsAre(Command{.kind = CommandKind::end, .signal = SIGTERM}));
    EXPECT_FALSE(commands.wait(std::chrono::milliseconds(1)));
    EXPECT_THAT(commands.take(), IsEmpty());
}

TEST(Commands, SilenceIsTheEndToo) {
    using namespace std::chrono_literals;
    OwnStdin input;
    Commands commands(Commands::Source::signals_and_stdin, 200ms);
    for (int sign = 0; sign < 30; ++sign) {
        input.write("alive\n");
        EXPECT_THAT(commands.take(), IsEmpty());
        std::this_thread::sleep_for(10ms);
    }
    while (commands.ms_to_next_poll() >= 0) {
        EXPECT_LE(commands.ms_to_next_poll(), 200);
        std::this_thread::sleep_for(10ms);
        for (const auto& command : commands.take())
            EXPECT_EQ(command, (Command{.kind = CommandKind::end, .signal = SIGTERM}));
    }
    input.write("stop\n");
    EXPECT_THAT(commands.take(), IsEmpty());
}

TEST(Commands, WithoutLinesSilenceMeansNothing) {
    Commands commands(Commands::Source::signals, std::chrono::milliseconds(1));
    EXPECT_EQ(commands.ms_to_next_poll(), -1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_THAT(commands.take(), IsEmpty());
}

TEST(Commands, StdinIsNobodysWithoutTheLaunchersWord) {
    OwnStdin input;
    Commands commands(Commands::Source::signals);
    input.write("stop\n");
    EXPECT_FALSE(commands.wait(std::chrono::milliseconds(1)));
    EXPECT_THAT(commands.take(), IsEmpty());
}

}  // namespace
}  // namespace dtrain::worker
