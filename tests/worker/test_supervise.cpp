// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the shell's exit statuses; programs that say what reached them. Each supervisor runs in a child of
// its own, as signals and children of a worker are its own.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "programs.hpp"
#include "protocol/byte_text.hpp"
#include "support/temporary_folder.hpp"
#include "trace/operation_log.hpp"
#include "trace/rank_state.hpp"
#include "worker/supervise.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using cluster::Event;
using EventKind = Event::Kind;

constexpr auto supervise_grace = 60s;

class Supervise : public testing::Test {
  protected:
    struct How {
        std::string executable = "/bin/sh";
        std::optional<std::string> console_prefix;
        bool under_launcher = false;
        std::chrono::milliseconds grace = supervise_grace;
        std::optional<std::uintmax_t> max_log_size;
        bool without_inotify = false;
        std::chrono::milliseconds hang_timeout{0};
        bool orders_on_stdin = false;
        bool has_error_file = false;
        bool records_operations = false;  ///< has recorded some, with long names
        bool stderr_apart = false;        ///< the log is that of stderr, and both streams are shown
        bool shows_by_events = false;
    };

    void start(const std::string& script) { start(script, How{}); }

    void start(const std::string& script, const How& how) {
        auto events = Pipe::open();
        auto console = Pipe::open();
        auto input = Pipe::open();
        const LogPolicy policy{.max_size = how.max_log_size};
        std::optional<RotatingLog> bounded_log;
        if (how.max_log_size) bounded_log.emplace(log(), policy);
        auto program = shell(script, how.max_log_size ? FileDescriptor() : open_log(log()), how.grace);
        std::optional<HangWatch> hang_watch;
        if (how.hang_timeout > 0s)
            hang_watch.emplace(HangWatch::Options{.limit = {.time = how.hang_timeout},
                                                  .stacks_file = log().string() + ".stacks",
                                                  .environment = Environment{{"PATH", "/nowhere"}}});
        std::vector<ShownLog> shown;
        if (how.console_prefix) shown = {{.log = log(), .style = {.prefix = *how.console_prefix}}};
        if (how.stderr_apart) {
            program.errors = std::exchange(program.output, open_log(stdout_log()));
            shown = {{.log = stdout_log()}, {.log = log(), .as_errors = true}};
        }
        program.executable = how.executable;
        std::fflush(nullptr);
        pid_ = ::fork();
        ASSERT_GE(pid_, 0);
        if (pid_ == 0) {
            ::dup2(console.write_end.get(), STDOUT_FILENO);
            if (how.orders_on_stdin) ::dup2(input.read_end.get(), STDIN_FILENO);
            input.write_end.reset();
            if (how.without_inotify) forbid_inotify();
            std::optional<RankErrorFile> error_file;
            if (how.has_error_file) {
                error_file.emplace(Environment{{"TMPDIR", folder_.path().string()}}, folder_.path());
                error_file->announce(program.environment);
            }
            std::optional<OperationsFolder> operations;
            if (how.records_operations) {
                operations.emplace(Environment::of_this_process());
                record_many(operations->path());
            }
            ::_exit(supervise({.program = std::move(program),
                               .log = log(),
                               .bounded_log = std::move(bounded_log),
                               .rank = 3,
                               .host = "n1",
                               .cpus = "0-1",
                               .other_log = how.stderr_apart ? stdout_log() : std::filesystem::path(),
                               .shown = shown,
                               .shows_by_events = how.shows_by_events,
                               .commands_from = how.orders_on_stdin ? Commands::Source::signals_and_stdin
                                                                    : Commands::Source::signals,
                               .under_launcher = how.under_launcher,
                               .operations = std::move(operations),
                               .error_file = std::move(error_file),
                               .hang_watch = std::move(hang_watch),
                               .report = [&](const Event& event) {
                                   write_all(events.write_end.get(), cluster::encode(event) + "\n");
                               }}));
        }
        events_ = std::move(events.read_end);
        console_ = std::move(console.read_end);
        input_ = std::move(input.write_end);
    }

    static void record_many(const std::filesystem::path& folder) {
        trace::OperationLog log(folder.string());
        const auto group = log.group("a name " + std::string(80, 'x'), 3, 4);
        for (std::uint64_t number = 1; number <= 100; ++number)
            log.end(log.begin({.group = group,
                               .number = number,
                               .name = log.text("an operation " + std::string(70, 'y')),
                               .source = log.text("a line " + std::string(80, 'z'))}));
    }

    /// A user namespace has limits of its own.
    static bool forbid_inotify() {
        if (::unshare(CLONE_NEWUSER) != 0) return false;
        const FileDescriptor limit(::open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC));
        return limit.valid() && write_all(limit.get(), "0");
    }

    std::filesystem::path log() const { return folder_ / "workerlog.3"; }
    std::filesystem::path stdout_log() const { return folder_ / "stdout.log"; }

    /// Waits until the program has written these lines.
    void wait_for_log(const std::string& text) const {
        for (int tries = 0; tries < 3000 && read_file(log()) != text; ++tries) ::usleep(10'000);
        ASSERT_EQ(read_file(log()), text);
    }

    Event next_event() const {
        const auto line = read_line(events_.get());
        const auto event = cluster::decode(line);
        if (!event) ADD_FAILURE() << "\"" << line << "\" is no event";
        return event.value_or(Event{});
    }

    void expect_started() const {
        const auto event = next_event();
        EXPECT_EQ(event.kind, EventKind::started);
        EXPECT_EQ(event.rank, 3);
        EXPECT_EQ(event.host, "n1");
        EXPECT_EQ(event.cpus, "0-1");
        EXPECT_GT(event.pid, 0);
    }

    void expect_end(EventKind kind, ExitStatus status) const {
        const auto event = next_event();
        EXPECT_EQ(event.kind, kind) << cluster::to_sentence(event);
        EXPECT_EQ((ExitStatus{.code = event.code, .signal = event.signal}), status);
        EXPECT_EQ(event.rank, 3);
    }

    void send_command(const std::string& command) const { write_all(input_.get(), command + "\n"); }
    void end_of_orders() { input_.reset(); }

    void send(int signal) const { ::kill(pid_, signal); }

    int exit_status() {
        int status = 0;
        for (int tries = 0; ::waitpid(pid_, &status, WNOHANG) == 0; ++tries) {
            if (tries == 10'000) {
                ADD_FAILURE() << "the worker does not end";
                return -1;
            }
            ::usleep(3'000);
        }
        pid_ = -1;
        EXPECT_TRUE(descendants_of(::getpid()).empty());
        return ExitStatus::of_wait(status).shell_status();
    }

    void TearDown() override {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    /// A named pipe that a program can wait at.
    std::string fifo() const {
        const auto path = folder_ / "fifo";
        ::mkfifo(path.c_str(), 0600);
        return path.string();
    }
    void write_to_fifo(const std::string& text) const {
        const FileDescriptor end(::open((folder_ / "fifo").c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_TRUE(write_all(end.get(), text));
    }

    std::string console_line() const { return read_line(console_.get()); }
    std::string console() const { return read_to_end(console_.get()); }
    std::string later_events() const { return read_to_end(events_.get()); }

  private:
    const tests::TemporaryFolder folder_;
    pid_t pid_ = -1;
    FileDescriptor events_;
    FileDescriptor input_;
    FileDescriptor console_;
};

TEST_F(Supervise, SuccessIsStatusZero) {
    start("echo hello");
    expect_started();
    expect_end(EventKind::done, {});
    EXPECT_EQ(exit_status(), 0);
    EXPECT_EQ(later_events(), "");
    EXPECT_EQ(read_file(log()), "hello\n");
    EXPECT_EQ(console(), "") << "only rank 0 is shown";
}

TEST_F(Supervise, TheProgramsCodeIsTheWorkers) {
    start("exit 7");
    expect_started();
    expect_end(EventKind::exited, {.code = 7});
    EXPECT_EQ(exit_status(), 7);
    EXPECT_EQ(later_events(), "");
}

constexpr const char* record =
    "echo '{\"message\": {\"message\": \"ValueError: a\", \"extraInfo\": {\"timestamp\": \"5\"}}}' "
    ">$TORCHELASTIC_ERROR_FILE; ";

RankError recorded() {
    return {.source = RankError::Source::torch,
            .message = "ValueError: a",
            .rank = 3,
            .host = "n1",
            .time_us = 5'000'000};
}

TEST_F(Supervise, WhatTheProgramLeftInItsErrorFileIsToldWithItsEnd) {
    start(record + std::string("exit 7"), {.under_launcher = true, .has_error_file = true});
    expect_started();
    for (int repeat = 0; repeat < 3; ++repeat) {
        const auto event = next_event();
        EXPECT_EQ(event.kind, EventKind::exited);
        EXPECT_EQ(event.code, 7);
        EXPECT_EQ(event.text, "");
        EXPECT_EQ(cluster::error_of(event), recorded());
    }
    send(SIGALRM);
    expect_end(EventKind::exited, {.code = 7});
    expect_end(EventKind::exited, {.code = 7});
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, AProgramThatIsStoppedWhileItEndsWithItsErrorTellsItToo) {
    start(record + std::string("trap '' TERM; echo ready; while :; do sleep 0.02; done"),
          {.under_launcher = true, .grace = 200ms, .has_error_file = true});
    expect_started();
    wait_for_log("ready\n");
    send(SIGALRM);
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::stopped);
    EXPECT_EQ(cluster::error_of(event), recorded());
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, WhatAProgramLeftWhoseEndNobodySawIsToldToo) {
    start(record + std::string("echo ready; sleep 1000"), {.grace = 200ms, .has_error_file = true});
    expect_started();
    wait_for_log("ready\n");
    ::kill(descendants_of(::getpid())[1], SIGKILL);  // the guard
    const auto event = next_event();
    EXPECT_EQ(event.text, "its guard process was killed");
    EXPECT_EQ(cluster::error_of(event), recorded());
    EXPECT_EQ(exit_status(), 128 + SIGKILL);
}

TEST_F(Supervise, AProgramThatGoesOnAndSucceedsHasNoError) {
    start(record, {.has_error_file = true});
    expect_started();
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::done);
    EXPECT_EQ(event.error, "");
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, AProgramWithoutAnErrorTellsNone) {
    start("exit 7", {.has_error_file = true});
    expect_started();
    const auto event = next_event();
    EXPECT_EQ(event.error, "");
    EXPECT_EQ(event.text, "");
    EXPECT_EQ(exit_status(), 7);
}

TEST_F(Supervise, WhatIsInPlaceOfAnErrorFileIsTold) {
    start("mkfifo $DTRAIN_ERROR_FILE; exit 7", {.has_error_file = true});
    expect_started();
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::exited);
    EXPECT_EQ(event.error, "");
    EXPECT_EQ(event.text, "its error file cannot be read: it is a FIFO, not a regular file");
    EXPECT_EQ(exit_status(), 7);
}

TEST_F(Supervise, SecretsInAnErrorAreHidden) {
    start("echo '{\"message\": \"http://me:hunter2@example.org\"}' >$TORCHELASTIC_ERROR_FILE; exit 7",
          {.has_error_file = true});
    expect_started();
    EXPECT_EQ(cluster::error_of(next_event()).value().message, "http://me:***@example.org");
    EXPECT_EQ(exit_status(), 7);
}

TEST_F(Supervise, ASignalIs128AndItsNumber) {
    start("kill -ABRT $$");
    expect_started();
    expect_end(EventKind::exited, {.signal = SIGABRT});
    EXPECT_EQ(exit_status(), 128 + SIGABRT);
}

TEST_F(Supervise, TheLogIsShownByteForByte) {
    ASSERT_TRUE(write_all(open_log(log()).get(), "from an earlier job\n"));
    start("printf 'one\\ntwo\\000\\377'; head -c 200000 /dev/zero; echo end", {.console_prefix = ""});
    EXPECT_EQ(console(), std::string("one\ntwo\0\xff", 9) + std::string(200'000, '\0') + "end\n");
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, StderrApartIsShownByTheLauncher) {
    // 600 letters of two bytes, which are no line: a message has whole letters.
    start("echo out; echo err >&2; i=0; while [ $i -lt 600 ]; do printf '\\303\\251'; i=$((i + 1)); done >&2",
          {.stderr_apart = true});
    EXPECT_EQ(console(), "out\n");
    expect_started();
    std::string shown;
    auto event = next_event();
    for (; event.kind == EventKind::console; event = next_event()) {
        EXPECT_TRUE(event.text.ends_with('\n') || event.text.ends_with('\251')) << event.text;
        shown += event.text;
    }
    std::string expected = "err\n";
    for (int letter = 0; letter < 600; ++letter) expected += "\303\251";
    EXPECT_EQ(shown, expected);
    EXPECT_EQ(event.kind, EventKind::done);
    EXPECT_EQ(exit_status(), 0);
    EXPECT_EQ(read_file(stdout_log()), "out\n");
    EXPECT_EQ(read_file(log()), expected);
}

TEST_F(Supervise, WhereStreamsAreMixedTheLauncherShowsAll) {
    start("printf 'one\\ntwo\\000\\377'; head -c 2000 /dev/zero | tr '\\000' '\\200'; printf end",
          {.console_prefix = "", .shows_by_events = true});
    EXPECT_EQ(console(), "");
    expect_started();
    std::string shown;
    auto event = next_event();
    for (; event.kind == EventKind::console; event = next_event()) {
        EXPECT_EQ(event.code, STDOUT_FILENO);
        shown += cluster::bytes_of_text(event.text);
    }
    EXPECT_EQ(shown, std::string("one\ntwo\0\xff", 9) + std::string(2000, '\x80') + "end");
    EXPECT_EQ(event.kind, EventKind::done);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, WhatTheLauncherShowsOfARankIsWholeLines) {
    start("i=1000; while [ $i -lt 2000 ]; do echo line $i; i=$((i + 1)); done",
          {.console_prefix = "[3] ", .shows_by_events = true});
    expect_started();
    std::string shown;
    auto event = next_event();
    for (; event.kind == EventKind::console; event = next_event()) {
        EXPECT_TRUE(event.text.ends_with('\n')) << event.text;
        shown += event.text;
    }
    std::string expected;
    for (int line = 1000; line < 2000; ++line) expected += fmt::format("[3] line {}\n", line);
    EXPECT_EQ(shown, expected);
    EXPECT_EQ(event.kind, EventKind::done);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, SeveralRanksOnOneConsoleHaveNames) {
    start("echo one; echo two; printf end", {.console_prefix = "[3] "});
    EXPECT_EQ(console(), "[3] one\n[3] two\n[3] end\n");
    EXPECT_EQ(exit_status(), 0);
    EXPECT_EQ(read_file(log()), "one\ntwo\nend");
}

TEST_F(Supervise, WithoutInotifyTheConsoleIsShownAllTheSame) {
    const auto no_inotify = [] { return forbid_inotify() && ::inotify_init1(IN_CLOEXEC) < 0 ? 0 : 1; };
    if (in_child(no_inotify) != 0) GTEST_SKIP() << "no user namespace with limits of its own here";
    start("echo one; read line <" + fifo() + "; echo two", {.console_prefix = "", .without_inotify = true});
    EXPECT_EQ(console_line(), "one") << "while the program runs";
    write_to_fifo("go\n");
    EXPECT_EQ(console(), "two\n");
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, ABoundedLogKeepsTheLastLinesAndTheConsoleShowsAll) {
    start("i=10000; while [ $i -lt 12000 ]; do echo line $i; i=$((i + 1)); done; printf end",
          {.console_prefix = "", .max_log_size = 16'000});
    std::string all;
    for (int line = 10'000; line < 12'000; ++line) all += fmt::format("line {}\n", line);
    all += "end";
    EXPECT_EQ(console(), all);
    expect_started();
    expect_end(EventKind::done, {});
    EXPECT_EQ(exit_status(), 0);
    const auto kept = read_file(log().string() + ".1").value_or("") + read_file(log()).value_or("");
    EXPECT_EQ(all.substr(all.size() - kept.size()), kept);
    EXPECT_GT(kept.size(), 16'000U);
    EXPECT_LE(kept.size(), 32'000U);
}

TEST_F(Supervise, WhatEscapesTheProgramCannotKeepTheLogOpen) {
    start("setsid sh -c 'trap \"\" TERM; echo from below; exec sleep 1000' & sleep 0.2; echo end",
          {.grace = 100ms, .max_log_size = 4096});
    expect_started();
    expect_end(EventKind::done, {});
    EXPECT_EQ(exit_status(), 0);
    EXPECT_EQ(read_file(log()), "from below\nend\n");
}

TEST_F(Supervise, AHangIsToldAgainAndAgainUntilItIsOver) {
    start("echo ready; read line <" + fifo() + "; echo awake; exec sleep 1000",
          {.under_launcher = true, .hang_timeout = 400ms});
    expect_started();
    const auto state_event = next_event();
    ASSERT_EQ(state_event.kind, EventKind::state) << "before it is idle";
    const auto state = trace::parse_rank_state(state_event.state);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->rank, 3);
    EXPECT_EQ(state->activity, trace::Activity::sleeps);
    for (int repeat = 0; repeat < 3; ++repeat) {
        auto event = next_event();
        if (repeat > 0) {
            EXPECT_EQ(event.kind, EventKind::state) << "as a line may be lost";
            event = next_event();
        }
        ASSERT_EQ(event.kind, EventKind::idle) << cluster::to_sentence(event);
        EXPECT_GE(event.idle_ms, 400);
        EXPECT_THAT(event.text, testing::HasSubstr("of the kernel"));
        EXPECT_EQ(event.rank, 3);
    }
    EXPECT_THAT(read_file(log().string() + ".stacks").value_or(""), testing::HasSubstr("(sh)"));
    EXPECT_EQ(read_file(log()), "ready\n");
    write_to_fifo("go\n");
    auto event = next_event();
    while (event.kind == EventKind::idle || event.kind == EventKind::state) event = next_event();
    EXPECT_EQ(event.kind, EventKind::active);
    while (event.kind == EventKind::active) event = next_event();
    EXPECT_EQ(event.kind, EventKind::state) << "anew";
    event = next_event();
    EXPECT_EQ(event.kind, EventKind::idle) << "again";
    send(SIGALRM);
    while (event.kind == EventKind::idle || event.kind == EventKind::state) event = next_event();
    EXPECT_EQ(event.kind, EventKind::stopped);
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, AStateIsToldHoweverMuchWasRecorded) {
    start("exec sleep 1000", {.under_launcher = true, .hang_timeout = 200ms, .records_operations = true});
    expect_started();
    const auto state_event = next_event();
    ASSERT_EQ(state_event.kind, EventKind::state);
    const auto state = trace::parse_rank_state(state_event.state);
    ASSERT_TRUE(state) << state_event.state;
    ASSERT_THAT(state->operations, testing::Not(testing::IsEmpty()));
    EXPECT_EQ(state->operations.back().number, 100);
    send(SIGALRM);
    auto event = next_event();
    while (event.kind == EventKind::idle || event.kind == EventKind::state) event = next_event();
    EXPECT_EQ(event.kind, EventKind::stopped);
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, PeopleAreToldOfAHangOnce) {
    start("exec sleep 2", {.hang_timeout = 200ms});
    expect_started();
    EXPECT_EQ(next_event().kind, EventKind::idle);
    // On a busy machine the program's own doings may take more than 1% of a core: then it is active, and may
    // be idle again. What is never told is the same thing twice.
    auto before = EventKind::idle;
    auto event = next_event();
    for (; event.kind == EventKind::idle || event.kind == EventKind::active; event = next_event()) {
        ASSERT_NE(event.kind, before) << cluster::to_sentence(event);
        before = event.kind;
    }
    EXPECT_EQ(event.kind, EventKind::done) << cluster::to_sentence(event);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, ABusyProgramIsNotIdle) {
    start("end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done", {.hang_timeout = 300ms});
    expect_started();
    expect_end(EventKind::done, {});
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, StopSignalsAreWhatTheProgramGets) {
    struct Case {
        int signal;
        const char* name;
    };
    for (const auto& each :
         {Case{SIGTERM, "TERM"}, Case{SIGINT, "INT"}, Case{SIGHUP, "HUP"}, Case{SIGQUIT, "QUIT"}}) {
        std::filesystem::remove(log());
        start(std::string("trap 'echo got it; exit 0' ") + each.name +
              "; echo ready; exec 2>/dev/null; while :; do sleep 0.02; done");
        expect_started();
        wait_for_log("ready\n");
        send(each.signal);
        expect_end(EventKind::stopped, {.signal = each.signal});
        EXPECT_EQ(exit_status(), 128 + each.signal) << "even though the program ended with 0";
        EXPECT_EQ(read_file(log()), "ready\ngot it\n");
    }
}

/// As Slurm ends a job: by a signal to each process in turn.
TEST_F(Supervise, AStopSignalMayReachTheProgramFirst) {
    const std::string signal_the_worker_next =
        "worker=$(cut -d' ' -f4 /proc/$PPID/stat); trap '' TERM; "
        "(while kill -0 $$; do :; done; kill $worker) & trap - TERM; ";
    for (const auto* end : {"kill -TERM $$", "exit 143"}) {
        start("exec 2>/dev/null; " + signal_the_worker_next + end, {.under_launcher = true});
        expect_started();
        const auto event = next_event();
        EXPECT_EQ(event.kind, EventKind::stopped) << cluster::to_sentence(event);
        EXPECT_EQ(exit_status(), 128 + SIGTERM);
    }
}

TEST_F(Supervise, OtherSignalsArePassedOn) {
    start("trap 'echo one' USR1; trap 'echo two; exit 5' USR2; echo ready; while :; do sleep 0.02; done");
    expect_started();
    wait_for_log("ready\n");
    send(SIGUSR1);
    wait_for_log("ready\none\n");
    send(SIGUSR2);
    expect_end(EventKind::exited, {.code = 5});
    EXPECT_EQ(exit_status(), 5);
}

TEST_F(Supervise, AProgramThatCannotBeExecutedIsToldAsThat) {
    start("", {.executable = "/no/such/program"});
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::issue);
    EXPECT_EQ(event.text, "cannot execute the program: No such file or directory");
    EXPECT_EQ(exit_status(), 127);
    EXPECT_EQ(later_events(), "");
}

TEST_F(Supervise, TheLauncherHearsWhyBeforeAnythingElse) {
    start("", {.executable = "/etc", .under_launcher = true});
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::issue);
    EXPECT_EQ(event.code, 126);
    EXPECT_EQ(event.text, "cannot execute the program: Permission denied");
    send(SIGALRM);
    EXPECT_EQ(next_event().kind, EventKind::issue);
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, UnderTheLauncherAFailureIsRepeatedUntilItSaysLeave) {
    start("exit 7", {.under_launcher = true});
    expect_started();
    for (int repeat = 0; repeat < 3; ++repeat) expect_end(EventKind::exited, {.code = 7});
    send(SIGALRM);  // "stop", which the others need; leaving now would make mpirun kill them
    expect_end(EventKind::exited, {.code = 7});
    expect_end(EventKind::exited, {.code = 7});
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, UnderTheLauncherAFailureIsToldBeforeItsTreeIsGone) {
    start("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 0.2; exit 7",
          {.under_launcher = true, .grace = 1s});
    expect_started();
    expect_end(EventKind::exited, {.code = 7});
    const auto left = parse_int(trimmed(read_file(log()).value_or(""))).value_or(-1);
    EXPECT_FALSE(is_gone(left));
    expect_end(EventKind::exited, {.code = 7});
    EXPECT_TRUE(is_gone(left));
    send(SIGALRM);
    expect_end(EventKind::exited, {.code = 7});
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, ALeaveThatComesWhileTheTreeEndsIsNotForgotten) {
    start("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 0.2; exit 7",
          {.under_launcher = true, .grace = 500ms});
    expect_started();
    expect_end(EventKind::exited, {.code = 7});
    send(SIGALRM);
    std::this_thread::sleep_for(50ms);
    send(SIGALRM);
    expect_end(EventKind::exited, {.code = 7});
    EXPECT_EQ(exit_status(), 0);
    EXPECT_TRUE(is_gone(parse_int(trimmed(read_file(log()).value_or(""))).value_or(-1)));
    EXPECT_EQ(later_events(), "");
}

TEST_F(Supervise, UnderTheLauncherSuccessLeavesAtOnce) {
    start("exit 0", {.under_launcher = true});
    expect_started();
    expect_end(EventKind::done, {});
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, UnderTheLauncherAlarmStopsThenLeaves) {
    start("echo ready; exec sleep 1000", {.under_launcher = true});
    expect_started();
    wait_for_log("ready\n");
    send(SIGALRM);
    expect_end(EventKind::stopped, {.signal = SIGTERM});
    send(SIGALRM);
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, UnderSrunLinesStopPassOnAndLetLeave) {
    start("trap 'echo usr1' USR1; echo ready; while :; do sleep 0.02; done",
          {.under_launcher = true, .orders_on_stdin = true});
    expect_started();
    wait_for_log("ready\n");
    send_command("signal 10");
    wait_for_log("ready\nusr1\n");
    send_command("stop");
    expect_end(EventKind::stopped, {.signal = SIGTERM});
    send_command("leave");
    EXPECT_EQ(exit_status(), 0);
}

TEST_F(Supervise, UnderSrunTheEndOfTheLinesMeansThatTheLauncherIsGone) {
    start("trap 'echo term; exit 3' TERM; echo ready; while :; do sleep 0.02; done",
          {.under_launcher = true, .orders_on_stdin = true});
    expect_started();
    wait_for_log("ready\n");
    end_of_orders();
    expect_end(EventKind::stopped, {.code = 3});
    EXPECT_EQ(exit_status(), 3);
    EXPECT_THAT(read_file(log()).value_or(""), testing::EndsWith("term\n"));
}

TEST_F(Supervise, AnotherSignalMeansThatTheLauncherIsGone) {
    start("exit 7", {.under_launcher = true});
    expect_started();
    expect_end(EventKind::exited, {.code = 7});
    expect_end(EventKind::exited, {.code = 7});
    send(SIGUSR1);  // no word of leaving
    expect_end(EventKind::exited, {.code = 7});
    send(SIGTERM);
    EXPECT_EQ(exit_status(), 128 + SIGTERM);
}

TEST_F(Supervise, AKilledGuardIsIssue) {
    start("setsid sleep 1000 & echo ready; wait", {.grace = 200ms});
    expect_started();
    wait_for_log("ready\n");
    const auto below = descendants_of(::getpid());
    ASSERT_GE(below.size(), 4U);  // worker, guard, shell, sleep
    ::kill(below[1], SIGKILL);
    const auto event = next_event();
    EXPECT_EQ(event.kind, EventKind::issue);
    EXPECT_EQ(event.text, "its guard process was killed");
    EXPECT_EQ(exit_status(), 128 + SIGKILL);
    for (const auto pid : below) EXPECT_TRUE(is_gone(pid));
}

}  // namespace
}  // namespace dtrain::worker
