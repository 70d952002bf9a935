// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: supervisor.hpp and docs/design/launch.md ("Two-phase stop"), with a clock that the tests move.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/supervise/supervisor.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using cluster::Command;
using cluster::Event;
using Kind = Event::Kind;
using Phase = Supervisor::Phase;
using testing::ElementsAre;
using testing::IsEmpty;

const SupervisionLimits by_signals{.by_lines = false, .at_once = SIGKILL, .grace = 10s};
const SupervisionLimits by_lines{.by_lines = true, .at_once = SIGTERM, .grace = 10s};
constexpr Action stop{SignalBackend{SIGALRM}};  // tells a worker first to stop, then to leave
constexpr Action leave = stop;

/// A job of this many ranks, and a clock.
class Supervised {
  public:
    explicit Supervised(SupervisionLimits limits, int size = 2, std::set<int> service_ranks = {})
        : job(size, std::move(service_ranks)), supervisor(std::move(limits), now) {}

    Supervised& with(Kind kind, int rank, int code = 0) {
        job.take({.kind = kind, .rank = rank, .host = "n1", .code = code, .time_us = ++time_us_});
        supervisor.heard(rank, now);
        return *this;
    }
    Supervised& started() {
        for (int rank = 0; rank < job.size(); ++rank) with(Kind::started, rank);
        return *this;
    }
    std::vector<Action> after(std::chrono::milliseconds time) {
        now += time;
        return supervisor.step(job, requests, now);
    }
    /// How long the launcher may sleep.
    std::optional<std::chrono::milliseconds> sleeps() const {
        const auto next = supervisor.next_step(job, now);
        if (!next) return std::nullopt;
        return std::chrono::duration_cast<std::chrono::milliseconds>(*next - now);
    }

    TimePoint now{1h};
    JobState job;
    Requests requests;
    Supervisor supervisor;

  private:
    std::int64_t time_us_ = 0;
};

TEST(Supervisor, SleepsWhileAllIsWell) {
    Supervised run(by_signals);
    run.started();
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_EQ(run.sleeps(), std::nullopt);
    run.with(Kind::done, 0).with(Kind::done, 1);
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_EQ(run.supervisor.phase(), Phase::leaving);
    EXPECT_EQ(run.sleeps(), 3s) << "for workers to exit";
}

TEST(Supervisor, StopsInTwoPhases) {
    Supervised run(by_signals);
    run.started().with(Kind::exited, 1, 7);
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    EXPECT_EQ(run.supervisor.phase(), Phase::stopping);
    EXPECT_EQ(run.sleeps(), 13s) << "the programs' grace and a margin";
    EXPECT_THAT(run.after(5s), IsEmpty());
    run.with(Kind::stopped, 0);
    EXPECT_THAT(run.after(1ms), ElementsAre(leave));
    EXPECT_EQ(run.supervisor.phase(), Phase::leaving);
    EXPECT_THAT(run.job.stopped(), ElementsAre(0));
    for (int second = 1; second < 8; ++second) {
        EXPECT_EQ(run.sleeps(), 1s);
        EXPECT_THAT(run.after(1s), ElementsAre(leave)) << "the two signals may have merged";
    }
    EXPECT_EQ(run.sleeps(), 999ms) << "a guard may use what is left of the grace";
    EXPECT_THAT(run.after(999ms), ElementsAre(Action{SignalBackend{SIGTERM}}));
}

TEST(Supervisor, BecomesMoreForcefulWithEachDeadline) {
    Supervised run(by_signals);
    run.started();
    run.requests.asked_to_stop_by = SIGTERM;
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    EXPECT_THAT(run.after(12'999ms), IsEmpty());
    EXPECT_THAT(run.after(1ms), ElementsAre(leave)) << "nobody has answered";
    EXPECT_THAT(run.after(2'999ms), ElementsAre(leave)) << "again";
    EXPECT_THAT(run.after(1ms), ElementsAre(Action{SignalBackend{SIGTERM}}));
    EXPECT_EQ(run.supervisor.phase(), Phase::killing);
    EXPECT_THAT(run.after(2'999ms), IsEmpty());
    EXPECT_THAT(run.after(1ms), ElementsAre(Action{SignalBackend{SIGKILL}}));
    EXPECT_FALSE(run.supervisor.killed_at_once());
}

TEST(Supervisor, ASecondRequestKillsOnce) {
    for (const auto& limits : {by_signals, by_lines}) {
        Supervised run(limits);
        run.started();
        run.requests.commanded_to_stop = true;
        run.after(1ms);
        run.requests.kill_now = true;
        EXPECT_THAT(run.after(1ms), ElementsAre(Action{SignalBackend{limits.at_once}}));
        EXPECT_THAT(run.after(1ms), IsEmpty());
        EXPECT_TRUE(run.supervisor.killed_at_once());
        EXPECT_THAT(run.after(3s), ElementsAre(Action{SignalBackend{SIGKILL}}));
    }
}

TEST(Supervisor, TwoEqualSignalsAreNotMerged) {
    Supervised run(by_signals, 1);
    run.started();
    run.requests.asked_to_stop_by = SIGTERM;
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    run.with(Kind::stopped, 0);
    EXPECT_THAT(run.after(49ms), IsEmpty());
    EXPECT_EQ(run.sleeps(), 1ms);
    EXPECT_THAT(run.after(1ms), ElementsAre(leave));
}

TEST(Supervisor, NoSignalHitsAWorkerThatIsJustBeginning) {
    Supervised run(by_signals, 3);
    run.with(Kind::started, 0);
    run.supervisor.notify({.kind = Command::Kind::pass_on, .signal = SIGUSR2});
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_EQ(run.sleeps(), 3s);
    run.with(Kind::started, 1);
    EXPECT_THAT(run.after(2'999ms), IsEmpty());
    EXPECT_EQ(run.sleeps(), 3s) << "for the next one";
    run.with(Kind::started, 2);
    EXPECT_THAT(run.after(1ms), ElementsAre(Action{SignalBackend{SIGUSR2}}));

    Supervised late(by_signals, 3);
    late.supervisor.notify({.kind = Command::Kind::show_stacks});
    EXPECT_THAT(late.after(20s), IsEmpty());
    EXPECT_EQ(late.sleeps(), 10s) << "until it is told of";
    late.with(Kind::started, 0);
    EXPECT_THAT(late.after(1ms), IsEmpty());
    EXPECT_THAT(late.after(2'999ms), IsEmpty());
    EXPECT_THAT(late.after(1ms), ElementsAre(Action{SignalBackend{SIGABRT}})) << "two do not come";
}

TEST(Supervisor, ProgramsThatStartAfterCtrlCHaveTheirTime) {
    Supervised run(by_signals);
    run.requests.asked_to_stop_by = SIGINT;
    EXPECT_THAT(run.after(1ms), IsEmpty());
    run.with(Kind::started, 0);
    EXPECT_THAT(run.after(2'500ms), IsEmpty());
    run.with(Kind::started, 1);
    EXPECT_THAT(run.after(2s), ElementsAre(stop));
    EXPECT_EQ(run.sleeps(), 13s) << "from the order on";
    run.with(Kind::stopped, 0).with(Kind::stopped, 1);
    EXPECT_THAT(run.after(50ms), ElementsAre(leave));
}

TEST(Supervisor, ABackendThatStartsNoRankIsNotWaitedForLong) {
    for (const auto& limits : {by_signals, by_lines}) {
        Supervised run(limits);
        run.requests.asked_to_stop_by = SIGINT;
        run.after(1ms);
        run.after(2'900ms);
        EXPECT_EQ(run.sleeps(), 100ms);
        EXPECT_THAT(run.after(100ms), testing::Contains(Action{SignalBackend{SIGTERM}}));
        EXPECT_EQ(run.supervisor.phase(), Phase::killing);
        EXPECT_THAT(run.after(3s), testing::Contains(Action{SignalBackend{SIGKILL}}));
    }
}

TEST(Supervisor, LinesNeedNoSpacing) {
    Supervised run(by_lines, 2);
    run.with(Kind::started, 0);
    EXPECT_THAT(run.after(0ms), ElementsAre(Action{WriteKeepalive{}}));
    EXPECT_EQ(run.sleeps(), cluster::keepalive_interval);
    run.supervisor.notify({.kind = Command::Kind::pass_on, .signal = SIGUSR2});
    EXPECT_THAT(run.after(1ms),
                ElementsAre(Action{WriteCommand{{.kind = Command::Kind::pass_on, .signal = SIGUSR2}}}));
    EXPECT_THAT(run.after(cluster::keepalive_interval), ElementsAre(Action{WriteKeepalive{}}));
}

TEST(Supervisor, LinesAreNotRepeated) {
    Supervised run(by_lines);
    run.started().with(Kind::exited, 0, 1).with(Kind::exited, 1, 1);
    run.after(1ms);
    EXPECT_THAT(run.after(50ms), ElementsAre(Action{WriteCommand{{.kind = Command::Kind::leave}}}));
    EXPECT_THAT(run.after(1s), testing::Each(Action{WriteKeepalive{}}));
}

TEST(Supervisor, ServersStopWhenTheWorkIsDone) {
    Supervised run(by_signals, 2, {0});
    run.started().with(Kind::done, 1);
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    run.with(Kind::stopped, 0);
    EXPECT_THAT(run.after(50ms), ElementsAre(leave));
    EXPECT_TRUE(run.job.all_done());
}

TEST(Supervisor, WhomTheBackendStopsIsNotDisturbed) {
    Supervised run(by_signals);
    run.started().with(Kind::stopped, 0);  // a worker was killed, and mpirun stops the others
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_EQ(run.supervisor.phase(), Phase::leaving);
    EXPECT_EQ(run.sleeps(), 13s);
}

TEST(Supervisor, ANodeWhoseLinkBreaksIsLost) {
    Supervised run(by_signals);
    run.started();
    run.requests.lost = LostNode{.rank = 1, .reason = "its launcher was killed"};
    EXPECT_THAT(run.after(1ms), IsEmpty()) << "mpirun ends the ranks";
    ASSERT_TRUE(run.supervisor.lost());
    EXPECT_EQ(run.supervisor.lost()->rank, 1);
    EXPECT_EQ(run.supervisor.lost()->reason, "its launcher was killed");
    EXPECT_THAT(run.after(13s), ElementsAre(Action{SignalBackend{SIGTERM}}));
}

TEST(Supervisor, ANodeThatIsSilentIsLost) {
    auto limits = by_signals;
    limits.heartbeat_ranks = {0, 1};
    limits.max_silence = 20s;
    Supervised run(limits);
    EXPECT_THAT(run.after(1min), ElementsAre(Action{ReportUnstarted{1min}}));
    EXPECT_FALSE(run.supervisor.lost()) << "its ranks are starting still";
    run.started();
    run.after(15s);
    run.with(Kind::alive, 0);
    run.after(5s);
    EXPECT_FALSE(run.supervisor.lost());
    EXPECT_EQ(run.sleeps(), 1s) << "to look again";
    EXPECT_THAT(run.after(1s), IsEmpty());
    ASSERT_TRUE(run.supervisor.lost());
    EXPECT_EQ(run.supervisor.lost()->rank, 1);
    EXPECT_THAT(run.after(0ms), ElementsAre(Action{SignalBackend{SIGTERM}})) << "nobody is waited for";
}

TEST(Supervisor, RanksThatDoNotStartAreToldOfOnce) {
    Supervised run(by_signals, 3);
    run.with(Kind::started, 0);
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_EQ(run.sleeps(), 30s);
    run.after(29s);
    run.with(Kind::started, 1);
    EXPECT_THAT(run.after(0ms), IsEmpty());
    EXPECT_THAT(run.after(29'999ms), IsEmpty()) << "each that starts is a sign that others will";
    EXPECT_THAT(run.after(1ms), ElementsAre(Action{ReportUnstarted{30s}}));
    EXPECT_THAT(run.after(1h), IsEmpty());
    EXPECT_EQ(run.sleeps(), std::nullopt);
    run.with(Kind::started, 2);
    EXPECT_THAT(run.after(1ms), ElementsAre(Action{ReportLateStart{1h + 1ms}}));
    EXPECT_THAT(run.after(1h), IsEmpty());
}

TEST(Supervisor, AJobOfWhichNothingStartsIsToldOf) {
    Supervised run(by_signals);
    EXPECT_EQ(run.sleeps(), 30s);
    EXPECT_THAT(run.after(30s), ElementsAre(Action{ReportUnstarted{30s}}));
}

TEST(Supervisor, WhoHasNotStartedInAJobThatIsStoppedIsNotToldOf) {
    Supervised run(by_signals);
    run.with(Kind::started, 0);
    run.after(1ms);
    run.after(29s);
    run.requests.asked_to_stop_by = SIGTERM;
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    EXPECT_THAT(run.after(1s), IsEmpty());
}

TEST(Supervisor, AFailureExplainsALossAndNotTheOtherWayRound) {
    Supervised run(by_signals);
    run.started().with(Kind::exited, 0, 1);
    run.requests.lost = LostNode{.rank = 1, .reason = {}};
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    EXPECT_FALSE(run.supervisor.lost());
}

TEST(Supervisor, RanksThatAllAreIdleAreStopped) {
    auto limits = by_signals;
    limits.hang_timeout = 5s;
    Supervised run(limits);
    run.started().with(Kind::idle, 0);
    EXPECT_THAT(run.after(1ms), IsEmpty());
    run.with(Kind::idle, 1);
    run.job.take({.kind = Kind::idle, .rank = 0, .host = "n1", .time_us = 60'000'000});
    run.job.take({.kind = Kind::idle, .rank = 1, .host = "n1", .time_us = 60'000'000});
    run.job.take({.kind = Kind::state, .rank = 0, .state = "{}"});
    EXPECT_THAT(run.after(1ms), IsEmpty()) << "what rank 1 does may have been lost, and comes again";
    EXPECT_EQ(run.sleeps(), 5s);
    run.job.take({.kind = Kind::state, .rank = 1, .state = "{}"});
    EXPECT_THAT(run.after(1ms), ElementsAre(stop));
    EXPECT_EQ(run.supervisor.hung().size(), 2U);
}

TEST(Supervisor, RanksThatDoNotTellWhatTheyDoAreNotWaitedForLong) {
    auto limits = by_signals;
    limits.hang_timeout = 5s;
    Supervised run(limits);
    run.started();
    for (const int rank : {0, 1})
        run.job.take({.kind = Kind::idle, .rank = rank, .host = "n1", .time_us = 60'000'000});
    EXPECT_THAT(run.after(1ms), IsEmpty());
    EXPECT_THAT(run.after(4s), IsEmpty());
    EXPECT_THAT(run.after(1s), ElementsAre(stop));
}

TEST(Supervisor, AHangIsToldWhileTheJobIsStoppedIfThatTakesLong) {
    auto limits = by_signals;
    limits.hang_timeout = 5s;
    for (const bool ends_soon : {false, true}) {
        Supervised run(limits, 3);
        run.started();
        for (const int rank : {0, 1, 2})
            for (const auto kind : {Kind::state, Kind::idle})
                run.job.take(
                    {.kind = kind, .rank = rank, .host = "n1", .time_us = 60'000'000, .state = "{}"});
        EXPECT_THAT(run.after(1ms), ElementsAre(stop));
        EXPECT_EQ(run.sleeps(), 2s);
        run.with(Kind::stopped, 1);
        if (ends_soon) run.with(Kind::stopped, 0).with(Kind::stopped, 2);
        const auto actions = run.after(2s);
        if (ends_soon) {
            EXPECT_THAT(actions, ElementsAre(leave));
            continue;
        }
        ASSERT_THAT(actions, testing::SizeIs(1));
        EXPECT_THAT(std::get<ReportSlowStop>(actions[0]).left, ElementsAre(0, 2));
        EXPECT_EQ(std::get<ReportSlowStop>(actions[0]).hung.size(), 3U);
        EXPECT_EQ(run.sleeps(), 11s) << "the programs' grace and a margin";
        EXPECT_THAT(run.after(5s), IsEmpty()) << "once";
    }
}

TEST(Supervisor, AHangIsReportedOnceUntilTheJobGoesOn) {
    auto limits = by_signals;
    limits.hang_timeout = 5s;
    limits.only_reports_hangs = true;
    Supervised run(limits);
    run.started();
    const auto all_are_idle = [&](std::int64_t time_us) {
        for (const int rank : {0, 1})
            for (const auto kind : {Kind::state, Kind::idle})
                run.job.take({.kind = kind, .rank = rank, .host = "n1", .time_us = time_us, .state = "{}"});
    };
    all_are_idle(60'000'000);
    const auto actions = run.after(1ms);
    ASSERT_THAT(actions, testing::SizeIs(1));
    EXPECT_EQ(std::get<ReportHang>(actions[0]).hung.size(), 2U);
    all_are_idle(61'000'000);
    EXPECT_THAT(run.after(1s), IsEmpty()) << "the same hang";
    run.with(Kind::active, 1);
    EXPECT_THAT(run.after(1s), ElementsAre(ReportEndOfHang{.lasted = 2s}));
    EXPECT_THAT(run.after(1s), IsEmpty());
    all_are_idle(70'000'000);
    EXPECT_THAT(run.after(1s), testing::SizeIs(1)) << "another one";
    EXPECT_TRUE(run.supervisor.hung().empty());
}

}  // namespace
}  // namespace dtrain::launch
