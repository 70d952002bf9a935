// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the life of Paddle's elastic jobs (who starts, who waits, what follows a failure, a loss, a
// newcomer, a signal) and the rules of rank_order, with a real etcd. Nodes are processes; what they would run
// is a stand-in that writes a journal and holds a lock that only one coordinator can have.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "elastic/job_commands.hpp"
#include "elastic/rank_order.hpp"
#include "elastic/run_elastic.hpp"
#include "etcd_server.hpp"
#include "is_readable.hpp"

namespace dtrain::elastic {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// What the nodes of one job share besides etcd.
class Shared {
  public:
    std::filesystem::path path(const std::string& name) const { return folder_ / name; }

    void note(const std::string& line) const {
        const FileDescriptor journal(::open(path("journal").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
        write_all(journal.get(), line + "\n");
    }
    std::vector<std::string> journal() const {
        std::vector<std::string> lines;
        std::ifstream in(path("journal"));
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }
    /// The orders of all starts so far.
    std::vector<std::vector<std::string>> starts() const {
        std::vector<std::vector<std::string>> out;
        for (const auto& line : journal())
            if (line.starts_with("start ")) out.push_back(split(line.substr(6), ','));
        return out;
    }

    /// Ends what the coordinator runs, now and later, with this status.
    void end_programs(int status) const {
        tests::write_bytes(path("end.new"), std::to_string(status));
        std::filesystem::rename(path("end.new"), path("end"));
    }
    void set_absent(const std::string& name) const { tests::write_bytes(path("absent." + name), ""); }
    void set_present(const std::string& name) const { std::filesystem::remove(path("absent." + name)); }
    bool is_absent(const std::string& name) const { return std::filesystem::exists(path("absent." + name)); }
    /// The next coordinator to look hears nothing of this node.
    void lose(const std::string& name) const { tests::write_bytes(path("lost." + name), ""); }
    std::vector<std::string> take_lost(const std::vector<std::string>& names) const {
        std::vector<std::string> out;
        for (const auto& name : names)
            if (std::filesystem::remove(path("lost." + name))) out.push_back(name);
        return out;
    }
    void run_programs() const { std::filesystem::remove(path("end")); }
    std::optional<int> end() const {
        return std::filesystem::exists(path("end")) ? parse_int(tests::bytes_of(path("end"))) : std::nullopt;
    }

  private:
    tests::TemporaryFolder folder_;
};

/// SIGTERM that has arrived and waits: it is blocked in every node.
bool is_terminated() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGTERM) == 1;
}

constexpr int status_of_errors = 9;
constexpr int status_of_loss = 8;

FileDescriptor lock_file(const Shared& shared) {
    return FileDescriptor(::open(shared.path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

StartEnd drive(const Shared& shared, const Start& start, const StopTimer& stop) {
    const auto lock = lock_file(shared);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) shared.note("two coordinators at once");
    std::vector<std::string> order;
    for (const auto& node : start.nodes) order.push_back(node.name);
    tests::write_bytes(shared.path("started." + std::to_string(start.number)), start.run);
    shared.note("start " + join(order, ","));
    if (shared.is_absent(order.back())) return {.absent = {order.back()}};
    if (shared.is_absent(order.front())) throw UsageError("of the coordinator");
    for (;;) {
        if (is_terminated()) return {.status = 143, .stopped_by = SIGTERM};
        if (is_readable(stop.fd(), 10)) return {.status = 75, .ordered = true};
        if (auto lost = shared.take_lost(order); !lost.empty())
            return {.status = status_of_loss, .lost = std::move(lost)};
        if (const auto status = shared.end()) return {.status = *status};
    }
}

/// Runs as long as that start's coordinator does.
StartEnd follow(const Shared& shared, const Start& start) {
    const auto lock = lock_file(shared);
    const auto mark = shared.path("started." + std::to_string(start.number));
    for (int tries = 0; tries < 500 && !std::filesystem::exists(mark); ++tries)
        std::this_thread::sleep_for(milliseconds(10));
    while (::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) {
        if (is_terminated()) return {.status = 143, .stopped_by = SIGTERM};
        std::this_thread::sleep_for(milliseconds(10));
    }
    return {};
}

class RunElastic : public tests::EtcdTest {
  protected:
    void SetUp() override {
        EtcdTest::SetUp();
        if (IsSkipped()) return;
        server_.emplace();
        options_.policy = {.wanted = {1, 1}, .level = Level::again, .settle = milliseconds(300)};
    }

    void TearDown() override {
        for (const auto& [address, pid] : nodes_) ::kill(pid, SIGKILL);
        while (!nodes_.empty()) wait_for(nodes_.begin()->first);
    }

    void start_node(const std::string& address) {
        const auto pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            spdlog::set_level(spdlog::level::off);
            try {
                ::_exit(be_node(address));
            } catch (const Error&) {
                ::_exit(status_of_errors);
            }
        }
        nodes_[address] = pid;
    }

    int be_node(const std::string& address) {
        EtcdClient client(server_->access());
        if (const auto ended = open_job(client, keys_, options_.policy.wanted, false).ended) return *ended;
        Membership membership({.access = server_->access(),
                               .limits = {},
                               .keys = keys_,
                               .self = {.address = address, .host = "test"},
                               .one_per_address = true,
                               .lease_seconds = lease_seconds_,
                               .time_to_stop = milliseconds(500)});
        options_.before_start = [this] { shared_.note("hook"); };
        return run_elastic(membership, keys_, options_,
                           {.coordinator = [this](const Start& start, const StopTimer& stop,
                                                  const auto&) { return drive(shared_, start, stop); },
                            .agent = [this](const Start& start, const std::string&,
                                            const StopTimer&) { return follow(shared_, start); }});
    }

    void signal_node(const std::string& address, int signal) { ::kill(nodes_.at(address), signal); }

    /// A node's exit status, 128 + signal.
    int wait_for(const std::string& address) {
        int status = 0;
        ::waitpid(nodes_.at(address), &status, 0);
        nodes_.erase(address);
        return ExitStatus::of_wait(status).shell_status();
    }

    void wait_for_starts(std::size_t count) const {
        const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (shared_.starts().size() < count) {
            if (std::chrono::steady_clock::now() > give_up_at)
                FAIL() << shared_.starts().size() << " starts within a minute, not " << count;
            std::this_thread::sleep_for(milliseconds(10));
        }
    }

    /// The nodes of the start: the coordinator, and the one whose launcher was killed.
    std::vector<std::string> start_two_and_kill_one() {
        start_node("n0");
        start_node("n1");
        wait_for_starts(1);
        const auto order = shared_.starts().back();
        signal_node(order[1], SIGKILL);
        EXPECT_EQ(wait_for(order[1]), 128 + SIGKILL);
        return order;
    }

    JobView view() {
        EtcdClient client(server_->access());
        return job_view(keys_, client.get_prefix(keys_.state()));
    }

    const JobKeys keys_{"job1"};
    ElasticOptions options_;
    int lease_seconds_ = 2;
    Shared shared_;
    std::optional<tests::EtcdServer> server_;
    std::map<std::string, pid_t> nodes_;
};

TEST_F(RunElastic, OneNodeCompletesItsJob) {
    shared_.end_programs(0);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_THAT(shared_.journal(), ElementsAre("hook", "start n0"));
    EXPECT_EQ(view().state, "completed");
    EXPECT_EQ(view().outcome, 0);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_THAT(shared_.starts(), SizeIs(1)) << "completed is completed";
}

TEST_F(RunElastic, NodesWaitForEachOtherAndEndTogether) {
    options_.policy.wanted = {3, 3};
    for (const char* node : {"n0", "n1", "n2"}) start_node(node);
    wait_for_starts(1);
    shared_.end_programs(0);
    for (const char* node : {"n0", "n1", "n2"}) EXPECT_EQ(wait_for(node), 0) << node;
    EXPECT_THAT(shared_.starts(), ElementsAre(SizeIs(3)));
    EXPECT_EQ(view().state, "completed");
}

TEST_F(RunElastic, AFailedProgramIsStartedAgainSoManyTimes) {
    options_.max_failures = 2;
    shared_.end_programs(7);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 7);
    EXPECT_THAT(shared_.starts(), SizeIs(3));
    EXPECT_EQ(view().state, "failed");
    EXPECT_EQ(view().outcome, 7);
}

TEST_F(RunElastic, AllStartsOfAJobHaveOneMark) {
    options_.max_failures = 1;
    shared_.end_programs(7);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 7);
    const auto first = tests::bytes_of(shared_.path("started.1"));
    EXPECT_THAT(first, SizeIs(32));
    EXPECT_EQ(tests::bytes_of(shared_.path("started.2")), first);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 7);
    const auto second = tests::bytes_of(shared_.path("started.1"));
    EXPECT_THAT(second, SizeIs(32));
    EXPECT_NE(second, first) << "a job that had failed begins anew";
    EXPECT_EQ(tests::bytes_of(shared_.path("started.2")), second);
}

TEST_F(RunElastic, AProgramThatAsksForItIsStartedAgainUncounted) {
    shared_.end_programs(102);
    start_node("n0");
    wait_for_starts(4);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n0"), 0);
}

TEST_F(RunElastic, AFailureMayBeTheNodesOnly) {
    options_.policy.level = Level::hold;
    options_.max_failures = 5;
    options_.failure_is_the_nodes = true;
    options_.failed_status = [](int) { return 101; };
    shared_.end_programs(7);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 101);
    EXPECT_EQ(view().state, "running") << "a replacement may come";
    shared_.end_programs(0);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_THAT(shared_.starts(), SizeIs(2));
}

TEST_F(RunElastic, AReplacementTakesThePlaceOfAKilledNode) {
    options_.policy.wanted = {2, 2};
    for (const auto* victim : {"coordinator", "agent"}) {
        SCOPED_TRACE(victim);
        const auto suffix = std::string(victim);
        start_node("a" + suffix);
        start_node("b" + suffix);
        const auto before = shared_.starts().size();
        wait_for_starts(before + 1);
        auto order = shared_.starts().back();
        const auto rank = suffix == "coordinator" ? 0U : 1U;
        signal_node(order[rank], SIGKILL);
        EXPECT_EQ(wait_for(order[rank]), 128 + SIGKILL);
        start_node("new" + suffix);
        wait_for_starts(before + 2);
        order[rank] = "new" + suffix;
        EXPECT_EQ(shared_.starts().back(), order);
        shared_.end_programs(0);
        for (const auto& node : order) EXPECT_EQ(wait_for(node), 0) << node;
        shared_.run_programs();
        EtcdClient client(server_->access());
        clean_job(client, keys_, false);
    }
    EXPECT_THAT(shared_.journal(), Each(Not(HasSubstr("two coordinators"))));
}

TEST_F(RunElastic, ALauncherThatIsStartedAgainReplacesItsPredecessor) {
    options_.policy = {.wanted = {2, 2}, .level = Level::hold, .settle = milliseconds(300)};
    lease_seconds_ = 60;  // the coordinator alone tells that one is gone
    const auto order = start_two_and_kill_one();
    start_node(order[1]);  // waits for the key of the one before
    shared_.lose(order[1]);
    wait_for_starts(2);
    shared_.end_programs(0);
    for (const auto& node : order) EXPECT_EQ(wait_for(node), 0) << node;
    EXPECT_THAT(shared_.starts(), ElementsAre(order, order));
}

TEST_F(RunElastic, ANodeThatComesAgainByItselfWasNotLost) {
    options_.policy = {.wanted = {2, 2}, .level = Level::hold, .settle = milliseconds(300)};
    start_node("n0");
    start_node("n1");
    wait_for_starts(1);
    const auto order = shared_.starts().back();
    shared_.lose(order[1]);
    EXPECT_EQ(wait_for(order[0]), status_of_loss) << "as its program failed";
    EXPECT_EQ(wait_for(order[1]), status_of_loss);
    EXPECT_THAT(shared_.starts(), SizeIs(1));
    EXPECT_EQ(view().state, "failed");
}

TEST_F(RunElastic, ACoordinatorSeesThatANodeWasReplacedBetweenTwoLooks) {
    options_.policy.wanted = {2, 2};
    lease_seconds_ = 60;
    const auto order = start_two_and_kill_one();
    EtcdClient client(server_->access());
    client.transact({},
                    {Change::put(keys_.node(order[1]),
                                 to_json({.name = order[1], .address = order[1], .launcher = "another"}))});
    wait_for_starts(2);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for(order[0]), 0);
    EXPECT_THAT(shared_.starts(), ElementsAre(order, order));
}

TEST_F(RunElastic, ANewcomerIsTakenInAndALeaverLetGo) {
    options_.policy.wanted = {1, 3};
    start_node("n0");
    wait_for_starts(1);
    start_node("n1");
    wait_for_starts(2);
    start_node("n2");
    wait_for_starts(3);
    signal_node("n0", SIGTERM);
    EXPECT_EQ(wait_for("n0"), 128 + SIGTERM);
    wait_for_starts(4);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n1"), 0);
    EXPECT_EQ(wait_for("n2"), 0);
    EXPECT_THAT(shared_.starts(), ElementsAre(ElementsAre("n0"), ElementsAre("n0", "n1"),
                                              ElementsAre("n0", "n1", "n2"), ElementsAre("n2", "n1")));
}

TEST_F(RunElastic, ScaleTakesEffectWhileItRuns) {
    options_.policy.wanted = {1, 1};
    start_node("n0");
    wait_for_starts(1);
    start_node("spare");
    EtcdClient client(server_->access());
    scale_job(client, keys_, "+1");
    wait_for_starts(2);
    scale_job(client, keys_, "-1");
    wait_for_starts(3);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_EQ(wait_for("spare"), 0);
    EXPECT_THAT(shared_.starts(),
                ElementsAre(ElementsAre("n0"), ElementsAre("n0", "spare"), ElementsAre("n0")));
}

TEST_F(RunElastic, ANodeThatCannotTakePartIsLeftOutUntilItComesAnew) {
    options_.policy.wanted = {1, 2};
    shared_.set_absent("n1");
    start_node("n0");
    wait_for_starts(1);
    start_node("n1");
    wait_for_starts(3);
    std::this_thread::sleep_for(milliseconds(1000));
    EXPECT_THAT(shared_.starts(), ElementsAre(ElementsAre("n0"), ElementsAre("n0", "n1"), ElementsAre("n0")));
    signal_node("n1", SIGTERM);
    wait_for("n1");
    shared_.set_present("n1");
    start_node("n1");
    wait_for_starts(4);
    EXPECT_THAT(shared_.starts().back(), ElementsAre("n0", "n1"));
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_EQ(wait_for("n1"), 0);
}

TEST_F(RunElastic, AnErrorOfTheCoordinatorEndsItsNode) {
    options_.policy.wanted = {1, 2};
    start_node("n0");
    wait_for_starts(1);
    shared_.set_absent("n0");
    start_node("n1");
    EXPECT_EQ(wait_for("n0"), status_of_errors);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n1"), 0);
}

TEST_F(RunElastic, TooFewNodesEndIt) {
    options_.policy.wanted = {2, 2};
    options_.policy.timeout = milliseconds(500);
    start_node("n0");
    EXPECT_EQ(wait_for("n0"), 1);
    EXPECT_EQ(view().state, "failed");
}

TEST_F(RunElastic, ALostNodeEndsAJobThatIsNotElastic) {
    options_.policy.wanted = {2, 2};
    options_.policy.level = Level::off;
    const auto order = start_two_and_kill_one();
    EXPECT_EQ(wait_for(order[0]), 75) << "as its runner said";
    EXPECT_EQ(view().state, "failed");
}

TEST_F(RunElastic, AnEtcdThatIsAwayDoesNotEndIt) {
    lease_seconds_ = 60;
    start_node("n0");
    wait_for_starts(1);
    server_->kill();
    std::this_thread::sleep_for(milliseconds(500));
    server_->start();
    std::this_thread::sleep_for(milliseconds(500));
    EXPECT_THAT(shared_.starts(), SizeIs(1));
    server_->kill();
    shared_.end_programs(0);
    std::this_thread::sleep_for(milliseconds(300));
    server_->start();
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_EQ(view().state, "completed") << "told as soon as etcd was back";
}

TEST_F(RunElastic, ACoordinatorThatIsCutOffStopsAndStartsAgain) {
    start_node("n0");
    wait_for_starts(1);
    server_->freeze();
    std::this_thread::sleep_for(milliseconds(4000));
    server_->thaw();
    wait_for_starts(2);
    shared_.end_programs(0);
    EXPECT_EQ(wait_for("n0"), 0);
    EXPECT_THAT(shared_.journal(), Each(Not(HasSubstr("two coordinators"))));
}

TEST_F(RunElastic, NodesComeAndGoTwentyTimes) {
    options_.policy.wanted = {1, 4};
    constexpr int max_nodes = 5;
    std::mt19937 engine(20);
    int next = 0;
    const auto join_one = [&] { start_node("n" + std::to_string(next++)); };
    join_one();
    wait_for_starts(1);
    for (int change = 0; change < 20; ++change) {
        const auto count = static_cast<int>(nodes_.size());
        if (count == 1 || (count < max_nodes && engine() % 2 == 0)) {
            join_one();
        } else {
            const auto victim = std::next(nodes_.begin(), static_cast<long>(engine() % nodes_.size()))->first;
            const int signal = engine() % 3 == 0 ? SIGKILL : SIGTERM;
            signal_node(victim, signal);
            EXPECT_EQ(wait_for(victim), 128 + signal) << victim;
        }
        std::this_thread::sleep_for(milliseconds(engine() % 700));
    }
    const auto is_final = [&] {
        const auto seen = view();
        if (!seen.start || seen.names().size() != nodes_.size()) return false;
        const auto running = shared_.starts().back();
        return running == rank_order(running, seen.names(), 4);
    };
    while (!is_final()) std::this_thread::sleep_for(milliseconds(100));
    shared_.end_programs(0);
    while (!nodes_.empty()) EXPECT_EQ(wait_for(nodes_.begin()->first), 0);
    EXPECT_EQ(view().state, "completed");
    EXPECT_THAT(shared_.journal(), Each(Not(HasSubstr("two coordinators"))));
    const auto starts = shared_.starts();
    for (std::size_t start = 1; start < starts.size(); ++start) {
        const auto& before = starts[start - 1];
        const auto& after = starts[start];
        for (std::size_t rank = 0; rank < std::min(before.size(), after.size()); ++rank)
            if (std::find(after.begin(), after.end(), before[rank]) != after.end()) {
                EXPECT_EQ(after[rank], before[rank]) << "start " << start << " moved a survivor";
            }
    }
}

}  // namespace
}  // namespace dtrain::elastic
