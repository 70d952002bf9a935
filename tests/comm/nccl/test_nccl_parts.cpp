// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: NCCL's guide for the spread of ids (its function rankHasRoot, and its example of 3 ids for 7
// ranks); for the rest the rules in the headers, on an NCCL and a failure_monitor that do what the test says.
// Needs neither MPI nor CUDA.
#include <deque>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nccl.hpp>

#include "comm/nccl/nccl_abort.hpp"
#include "comm/nccl/nccl_bootstrap.hpp"
#include "comm/nccl/nccl_choice.hpp"
#include "comm/nccl/nccl_failure.hpp"
#include "comm/nccl/nccl_ids.hpp"
#include "comm/nccl/nccl_queue.hpp"
#include "comm/nccl/nccl_state.hpp"
#include "support/message_of.hpp"

namespace dtrain::comm {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// As NCCL's guide has it.
bool rank_has_root(int rank, int ranks, int ids) {
    const int rmr = ranks % ids;
    const int rpr = ranks / ids;
    const int rlim = rmr * (rpr + 1);
    return rank < rlim ? rank % (rpr + 1) == 0 : (rank - rlim) % rpr == 0;
}

TEST(NcclIds, OneForEach256Ranks) {
    EXPECT_EQ(nccl_ids_for(1), 1);
    EXPECT_EQ(nccl_ids_for(256), 1);
    EXPECT_EQ(nccl_ids_for(257), 2);
    EXPECT_EQ(nccl_ids_for(10'000), 40);
}

TEST(NcclIds, ThreeForSevenRanks) {
    std::vector<int> makers;
    for (int rank = 0; rank < 7; ++rank)
        if (nccl_id_made_by(rank, 7, 3)) makers.push_back(rank);
    EXPECT_THAT(makers, ElementsAre(0, 3, 5));
}

TEST(NcclIds, AreMadeOnceEachInOrderAndSpreadEvenly) {
    for (const int ranks : {1, 2, 7, 256, 257, 1000, 10'000}) {
        for (const int ids : {1, 2, 3, 40, ranks}) {
            if (ids > ranks) continue;
            std::vector<int> makers;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto id = nccl_id_made_by(rank, ranks, ids);
                ASSERT_EQ(id.has_value(), rank_has_root(rank, ranks, ids)) << rank << " of " << ranks;
                if (!id) continue;
                ASSERT_EQ(*id, static_cast<int>(makers.size()));
                makers.push_back(rank);
            }
            ASSERT_EQ(static_cast<int>(makers.size()), ids);
            makers.push_back(ranks);
            for (std::size_t i = 1; i < makers.size(); ++i) {
                ASSERT_GE(makers[i] - makers[i - 1], ranks / ids);
                ASSERT_LE(makers[i] - makers[i - 1], ranks / ids + 1);
            }
        }
    }
}

TEST(NcclChoice, OfTheGpu) {
    EXPECT_EQ(nccl_device(2, {{"FLAGS_selected_gpus", "1"}}, 0, 4), 2);
    EXPECT_EQ(nccl_device({}, {{"FLAGS_selected_gpus", "3"}}, 0, 4), 3);
    EXPECT_EQ(nccl_device({}, {{"FLAGS_selected_gpus", "2,3"}}, 1, 4), 2);
    EXPECT_EQ(nccl_device({}, {}, 5, 1), 0) << "the only one that the launcher lets it see";
    EXPECT_EQ(nccl_device({}, {}, 5, 8), 5);
    EXPECT_THAT(tests::message_of<NcclError>([] { nccl_device(4, {}, 0, 4); }),
                HasSubstr("device says GPU 4, but this process sees 4"));
    EXPECT_THAT(tests::message_of<NcclError>([] {
                    nccl_device({}, {{"FLAGS_selected_gpus", "9"}}, 0, 4);
                }),
                HasSubstr("FLAGS_selected_gpus says GPU 9"));
    EXPECT_THAT(tests::message_of<NcclError>([] { nccl_device({}, {}, 2, 2); }),
                HasSubstr("number on its node says GPU 2"));
    EXPECT_THAT(tests::message_of<NcclError>([] { nccl_device({}, {}, 0, 0); }), HasSubstr("sees no GPU"));
}

TEST(NcclChoice, OfNameAndIds) {
    EXPECT_EQ(nccl_name("", {{"DTRAIN_JOB_ID", "7f3a"}}), "7f3a/world");
    EXPECT_EQ(nccl_name("", {}), "world");
    EXPECT_EQ(nccl_name("mine", {{"DTRAIN_JOB_ID", "7f3a"}}), "mine");
    const NcclRendezvous agreement{.by_several_ids = true, .version = "2.23.4"};
    EXPECT_EQ(nccl_id_count(0, 1000, agreement), 4);
    EXPECT_EQ(nccl_id_count(3, 7, agreement), 3);
    EXPECT_THROW(nccl_id_count(8, 7, agreement), NcclError);
    EXPECT_THROW(nccl_id_count(-1, 7, agreement), NcclError);
}

TEST(NcclChoice, AnOldNcclHasOneId) {
    const NcclRendezvous agreement{.by_several_ids = false, .version = "2.18.5"};
    EXPECT_EQ(nccl_id_count(0, 1000, agreement), 1);
    EXPECT_EQ(nccl_id_count(1, 7, agreement), 1);
    EXPECT_EQ(tests::message_of<NcclError>([&] { nccl_id_count(3, 7, agreement); }),
              "nccl_communicator: 3 ids need NCCL 2.23.4, and this dtrain was built with 2.18.5: "
              "NcclOptions::ids must be 0 or 1");
}

#ifndef WITH_NCCL_MODULE
TEST(NcclCommunicator, SaysWhatIsMissingInABuildWithoutCuda) {
    try {
        nccl_communicator(Communicator());
        FAIL() << "made without CUDA";
    } catch (const NcclError& error) {
        EXPECT_THAT(error.what(), HasSubstr("built without CUDA"));
        EXPECT_THAT(error.what(), HasSubstr("-Dcuda=enabled"));
    }
}
#endif

TEST(NcclNext, OwnFailureThenProgressThenOthersThenTheDeadline) {
    using S = NcclState;
    using N = NcclNext;
    const std::chrono::duration<double> none{};
    const std::chrono::duration<double> two{2};
    const std::chrono::duration<double> three{3};
    struct Case {
        NcclPhase phase;
        NcclPoll look;
        N next;
    };
    const Case cases[] = {
        {NcclPhase::joining, {S::in_progress, S::in_progress, false, none, two}, N::wait},
        {NcclPhase::joining, {S::done, S::in_progress, true, three, two}, N::go_on},
        {NcclPhase::joining, {S::refused, S::in_progress, false, none, two}, N::fail},
        {NcclPhase::issuing, {S::in_progress, S::in_progress, true, none, two}, N::give_up},
        {NcclPhase::issuing, {S::in_progress, S::in_progress, false, three, two}, N::give_up},
        {NcclPhase::issuing, {S::in_progress, S::in_progress, false, two, two}, N::wait},
        {NcclPhase::issuing, {S::refused, S::in_progress, true, three, two}, N::refuse},
        {NcclPhase::issuing, {S::failed, S::in_progress, true, three, two}, N::fail},
        {NcclPhase::issuing, {S::done, S::in_progress, true, three, two}, N::go_on},
        {NcclPhase::running, {S::done, S::in_progress, false, none, two}, N::wait},
        {NcclPhase::running, {S::done, S::done, true, three, two}, N::go_on},
        {NcclPhase::running, {S::failed, S::done, false, none, two}, N::fail},
        {NcclPhase::running, {S::done, S::failed, false, none, two}, N::fail},
        {NcclPhase::running, {S::done, S::in_progress, true, none, two}, N::give_up},
        {NcclPhase::running, {S::done, S::in_progress, false, three, two}, N::give_up},
        {NcclPhase::running, {S::done, S::in_progress, false, three, none}, N::wait},  // no deadline
        {NcclPhase::leaving, {S::in_progress, S::in_progress, false, three, two}, N::give_up},
        {NcclPhase::leaving, {S::done, S::in_progress, false, none, two}, N::go_on},
    };
    int number = 0;
    for (const auto& one : cases) EXPECT_EQ(next_of(one.phase, one.look), one.next) << "case " << number++;
}

TEST(NcclNext, SleepsGrow) {
    using std::chrono::duration;
    EXPECT_LT(nccl_sleep(duration<double>(0)), nccl_sleep(duration<double>(0.1)));
    EXPECT_LT(nccl_sleep(duration<double>(0.1)), nccl_sleep(duration<double>(1)));
    EXPECT_LE(nccl_sleep(duration<double>(1000)), milliseconds(1));
}

TEST(NcclAbort, HasADeadline) {
    int meanwhile = 0;
    EXPECT_TRUE(ends_within(
        milliseconds(5000), [] {}, [&] { ++meanwhile; }));
    EXPECT_FALSE(ends_within(
        milliseconds(20), [] { std::this_thread::sleep_for(milliseconds(300)); }, [&] { ++meanwhile; }));
    EXPECT_GT(meanwhile, 2);
    std::this_thread::sleep_for(milliseconds(400));  // the thread that was left alone ends
}

/// An NCCL that does what is written into it.
class Scripted final : public NcclPort {
  public:
    std::deque<NcclState> states;  // by join, issue, leave and status(); done when empty
    bool gpu_works = true;
    std::vector<std::string> calls;
    int aborted = 0;
    int released = 0;
    bool abort_hangs = false;

    NcclAnswer join() override { return note("join"); }
    NcclAnswer issue(std::span<const Call> issued) override {
        return note("issue " + std::to_string(issued.size()));
    }
    std::string why_not_captured() const override { return ""; }
    NcclAnswer fork(const Call&) override { return note("fork"); }
    std::size_t forked() override { return 0; }
    void join(std::size_t) override {}
    std::size_t mark_computed() override {
        calls.emplace_back("mark computed");
        return 0;
    }
    NcclAnswer leave() override { return note("leave"); }
    void end() override { calls.emplace_back("end"); }
    NcclAnswer status() override { return next(); }
    std::size_t mark() override {
        calls.emplace_back("mark");
        return 0;
    }
    std::size_t mark_before() const override { return 1; }
    void release(std::size_t) override { ++released; }
    NcclAnswer reached(std::size_t) override {
        return {.state = gpu_works ? NcclState::done : NcclState::in_progress};
    }
    std::function<void()> aborter() override {
        return [this, hangs = abort_hangs] {
            if (hangs)
                std::this_thread::sleep_for(milliseconds(300));
            else
                ++aborted;
        };
    }
    MemoryLocation location_of(const void*) const override { return MemoryLocation::this_gpu; }
    Memory allocate(std::size_t) override { return {}; }
    void free(const Memory&) override {}
    int device() const override { return 0; }
    std::string describe() const override { return "scripted"; }

  private:
    NcclAnswer next() {
        if (states.empty()) return {};
        const auto state = states.front();
        states.pop_front();
        NcclAnswer answer{.state = state};
        if (state == NcclState::failed || state == NcclState::refused)
            answer = {.state = state, .code = 2, .reason = "because of the script"};
        return answer;
    }
    NcclAnswer note(const std::string& call) {
        calls.push_back(call);
        return next();
    }
};

/// Three others, of which the test says what they do.
class Others final : public FailureMonitor {
  public:
    bool gave_up = false;
    Absence because;
    std::chrono::duration<double> limit{0};
    int own_failure = 0;
    int looks_at_mpi = 0;
    std::vector<std::uint64_t> given_up;

    int rank() const override { return 0; }
    std::chrono::duration<double> deadline() const override { return limit; }
    void note_started(std::uint64_t, const Call&) override {}
    void note_finished(std::uint64_t) override {}
    void note_waits(std::uint64_t, Operation) override {}
    void note_goes_on() override {}
    void note_failure(int code) override { own_failure = code; }
    bool others_gave_up() override { return gave_up; }
    void let_mpi_work() override { ++looks_at_mpi; }
    Absence give_up(std::uint64_t number) override {
        given_up.push_back(number);
        auto absence = because;
        if (own_failure != 0) absence.failed.push_back({0, own_failure});
        return absence;
    }
};

class Queue : public testing::Test {
  protected:
    Scripted nccl;
    Others others;
    NcclQueue queue{nccl, others, std::chrono::minutes(1)};
    const Call sum{.operation = Operation::allreduce, .count = 1};
    const Call out{.operation = Operation::send, .count = 1, .peer = 1};
    const Call in{.operation = Operation::receive, .count = 1, .peer = 1};
};

TEST_F(Queue, WaitsForNcclBeforeItPutsAnythingIntoTheStream) {
    nccl.states = {NcclState::in_progress, NcclState::in_progress, NcclState::done,  // join
                   NcclState::in_progress, NcclState::in_progress, NcclState::in_progress, NcclState::done};
    queue.join();
    EXPECT_THAT(nccl.calls, ElementsAre("join"));
    const auto number = queue.start(sum);
    const auto second = queue.start(sum);  // is not handed over while the first one is
    EXPECT_EQ(number, 2U);
    EXPECT_THAT(nccl.calls.back(), "issue 1");
    queue.wait(second);
    EXPECT_THAT(nccl.calls, ElementsAre("join", "issue 1", "mark", "issue 1", "mark"));
    EXPECT_TRUE(queue.is_idle());
    queue.leave();
    EXPECT_EQ(nccl.calls.back(), "leave");
}

TEST_F(Queue, ManyWaitForTheGpu) {
    queue.join();
    nccl.gpu_works = false;
    const auto first = queue.start(sum);
    const auto second = queue.start(sum);
    EXPECT_FALSE(queue.test(first));
    EXPECT_THAT(nccl.calls, ElementsAre("join", "issue 1", "mark", "issue 1", "mark"));
    nccl.gpu_works = true;
    EXPECT_TRUE(queue.test(second));
    EXPECT_TRUE(queue.test(first));
}

TEST_F(Queue, GivesBackWhatTheGpuHadToReachBeforeEachOperation) {
    queue.join();
    EXPECT_EQ(nccl.released, 0);
    queue.wait(queue.start(sum));
    queue.start(out);
    queue.wait(queue.start(in));
    EXPECT_EQ(nccl.released, 2) << "messages are one";
}

TEST_F(Queue, MessagesGoTogetherWhenSomebodyWaitsOrSomethingElseStarts) {
    queue.join();
    queue.start(out);
    queue.start(in);
    EXPECT_THAT(nccl.calls, ElementsAre("join"));
    queue.start(sum);
    EXPECT_THAT(nccl.calls, ElementsAre("join", "issue 2", "mark", "issue 1", "mark"));
    const auto last = queue.start(out);
    EXPECT_TRUE(queue.test(last));
    EXPECT_EQ(nccl.calls.size(), 7U);
}

TEST_F(Queue, AMessageToItselfNeedsItsOtherSide) {
    queue.join();
    auto to_self = out;
    to_self.peer = 0;
    auto from_self = in;
    from_self.peer = 0;
    const auto lonely = queue.start(to_self);
    EXPECT_THAT(tests::message_of<NcclError>([&] { queue.wait(lonely); }),
                HasSubstr("a message of a rank to itself"));
    queue.start(to_self);
    queue.wait(queue.start(from_self));
    EXPECT_THAT(nccl.calls, ElementsAre("join", "mark", "issue 2", "mark"));
}

TEST_F(Queue, WhatIsRefusedIsNoEnd) {
    queue.join();
    nccl.states = {NcclState::refused};
    const auto number = queue.start(sum);
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.wait(number); }), "because of the script");
    queue.wait(queue.start(sum));
    EXPECT_EQ(nccl.aborted, 0);
    EXPECT_TRUE(others.given_up.empty());
}

TEST_F(Queue, AFailureIsToldToTheOthersThenAbortedAndStays) {
    queue.join();
    nccl.states = {NcclState::in_progress, NcclState::in_progress, NcclState::failed};
    const auto number = queue.start(sum);
    const auto text = tests::message_of<NcclError>([&] { queue.wait(number); });
    EXPECT_EQ(text, "allreduce number 2: NCCL failed on rank 0 (because of the script)");
    EXPECT_EQ(others.own_failure, 2);
    EXPECT_THAT(others.given_up, ElementsAre(2));
    EXPECT_EQ(nccl.aborted, 1);
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.start(sum); }), text);
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.wait(number); }), text);
    EXPECT_EQ(nccl.aborted, 1) << "once";
}

TEST_F(Queue, WhatIsRecordedIsWaitedForButHasNoMark) {
    queue.join();
    nccl.gpu_works = false;
    nccl.states = {NcclState::in_progress, NcclState::in_progress, NcclState::done};
    queue.capture(sum);
    EXPECT_TRUE(nccl.states.empty());
    EXPECT_THAT(nccl.calls, ElementsAre("join", "fork"));
    EXPECT_TRUE(queue.is_idle());
    nccl.states = {NcclState::refused};
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.capture(sum); }),
              "allreduce number 3: NCCL failed on rank 0 (because of the script)")
        << "half a graph is none";
}

TEST_F(Queue, WhatFailsWhileItIsRecordedIsAbortedWhenTheRecordingIsGone) {
    queue.join();
    queue.begin_capture();
    nccl.states = {NcclState::failed};
    const auto text = tests::message_of<NcclError>([&] { queue.capture(sum); });
    EXPECT_EQ(text, "allreduce number 2: NCCL failed on rank 0 (because of the script)");
    EXPECT_THAT(others.given_up, ElementsAre(2)) << "the others are told at once";
    EXPECT_EQ(nccl.aborted, 0) << "it would wait for the graph";
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.end_capture(); }), text);
    EXPECT_EQ(nccl.aborted, 1);
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.start(sum); }), text);
    EXPECT_EQ(nccl.aborted, 1) << "once";
}

TEST_F(Queue, RunsOfARecordingAreOperationsThatTheGpuEnds) {
    queue.join();
    nccl.gpu_works = false;
    queue.expect_all_well();
    const auto first = queue.note_run();
    const auto second = queue.note_run();
    EXPECT_EQ(first, 2U);
    EXPECT_EQ(second, 3U);
    EXPECT_THAT(nccl.calls, ElementsAre("join", "mark computed", "mark computed"));
    EXPECT_FALSE(queue.test(first));
    nccl.gpu_works = true;
    queue.wait(second);
    EXPECT_TRUE(queue.is_idle());
}

TEST_F(Queue, RecordingsAreDestroyedWhenTheirLastRunHasEnded) {
    queue.join();
    bool recording_exists = true;
    queue.on_failure([&] { recording_exists = false; });
    nccl.gpu_works = false;
    const auto run = queue.note_run();
    others.limit = milliseconds(10);
    others.because.missing = {{3, "did not answer"}};
    EXPECT_THAT(tests::message_of<CommunicatorTimeout>([&] { queue.wait(run); }),
                HasSubstr("allreduce number 2 waited"));
    EXPECT_TRUE(recording_exists) << "its run is under way: abort did nothing";
    EXPECT_THAT(tests::message_of<CommunicatorTimeout>([&] { queue.expect_all_well(); }),
                HasSubstr("rank 3 (did not answer)"));
}

TEST_F(Queue, NoRunBeginsWhenOthersGaveUp) {
    queue.join();
    bool recording_exists = true;
    queue.on_failure([&] { recording_exists = false; });
    queue.wait(queue.note_run());
    others.gave_up = true;
    others.because.failed = {{2, 6}};
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.expect_all_well(); }),
              "allreduce number 3: NCCL failed on rank 2 (remote error)");
    EXPECT_FALSE(recording_exists);
    EXPECT_EQ(nccl.aborted, 1);
    EXPECT_THAT(nccl.calls, ElementsAre("join", "mark computed"));
}

TEST_F(Queue, WhatOthersGaveUpIsGivenUpAndNamed) {
    queue.join();
    nccl.gpu_works = false;
    const auto number = queue.start(sum);
    others.gave_up = true;
    others.because.failed = {{2, 6}};
    EXPECT_EQ(tests::message_of<NcclError>([&] { queue.wait(number); }),
              "allreduce number 2: NCCL failed on rank 2 (remote error)");
    EXPECT_EQ(nccl.aborted, 1);
    EXPECT_EQ(others.own_failure, 0);
}

TEST_F(Queue, TheDeadlineNamesWhoIsMissingAndMpiGoesOnMeanwhile) {
    queue.join();
    nccl.gpu_works = false;
    others.limit = std::chrono::duration<double>(0.05);
    others.because.missing = {{3, "in no operation"}};
    const auto number = queue.start(sum);
    const auto text = tests::message_of<CommunicatorTimeout>([&] { queue.wait(number); });
    EXPECT_THAT(text, HasSubstr("allreduce number 2 waited 0."));
    EXPECT_THAT(text, HasSubstr("for rank 3 (in no operation)"));
    EXPECT_GT(others.looks_at_mpi, 10);
    EXPECT_EQ(nccl.aborted, 1);
}

TEST_F(Queue, AnAbortThatHangsIsLeftAlone) {
    NcclQueue impatient(nccl, others, milliseconds(50));
    impatient.join();
    nccl.gpu_works = false;
    nccl.abort_hangs = true;
    others.gave_up = true;
    others.because.missing = {{3, "in no operation"}};
    EXPECT_THAT(tests::message_of<CommunicatorTimeout>([&] { impatient.start(sum); }),
                HasSubstr("; ncclCommAbort did not return within 0.1 s"));
    std::this_thread::sleep_for(milliseconds(400));
}

}  // namespace
}  // namespace dtrain::comm
