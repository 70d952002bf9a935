// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Ranks that are forked processes; this one is their parent and never a rank. Oracle: which rank is ended, or
// does not come, and its pid; the names that /dev/shm has.
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sys/mman.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/mpi.hpp>
#include <dtrain/node_communicator.hpp>

#include "comm/message/transport.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/node/forked_ranks.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::ForkedRanks;

std::string shared_name(const std::string& name) {
    return "/dtrain-messages-" + name;
}

bool has_name(const std::string& name) {
    return std::filesystem::exists("/dev/shm" + shared_name(name));
}

/// How many have come so far: the second number of what they share.
std::uint32_t ranks_come(const std::string& name) {
    std::array<std::uint32_t, 2> head{};
    const FileDescriptor file(::shm_open(shared_name(name).c_str(), O_RDONLY, 0));
    (void)read_at(file.get(), head.data(), sizeof(head), 0);
    return head[1];
}

std::string ended(const ForkedRanks& ranks, int rank) {
    return fmt::format("rank {} (its process, {}, has ended)", rank, ranks.pid(rank));
}

TEST(NodeCommunicator, RanksMeetByANameThatIsGoneThen) {
    const ForkedRanks ranks(3, [](const NodeRanks& own) {
        const auto all = node_communicator(own);
        return fmt::format("{} of {}, sum {}, {}, name {}, MPI {}", all.rank(), all.size(),
                           all.sum(std::int64_t{all.rank()} + 1), all.describe(), has_name(own.name),
                           comm::mpi_is_running());
    });
    for (int rank = 0; rank < 3; ++rank)
        EXPECT_EQ(ranks.output(rank),
                  fmt::format("{} of 3, sum 6, 3 ranks on 1 node: shared memory, without MPI, "
                              "name false, MPI false",
                              rank));
}

TEST(NodeCommunicator, NamesAreFreshAndValid) {
    const auto name = node_communicator_name();
    EXPECT_NE(name, node_communicator_name());
    EXPECT_EQ(node_communicator({.name = name}).sum(2.5), 2.5) << "of one rank";
}

TEST(NodeCommunicator, BadValuesAreRefusedBeforeAnythingHappens) {
    const auto refused = [](const NodeRanks& ranks) {
        return tests::message_of<UsageError>([&] { (void)node_communicator(ranks); });
    };
    EXPECT_THAT(refused({.name = "a", .size = 0}), HasSubstr("0 ranks: it has 1 to 1024"));
    EXPECT_THAT(refused({.name = "a", .size = 1025}), HasSubstr("1025 ranks"));
    EXPECT_THAT(refused({.name = "a", .rank = 2, .size = 2}), HasSubstr("as rank 2: ranks are 0 to 1"));
    EXPECT_THAT(refused({.name = "a", .rank = -1, .size = 2}), HasSubstr("as rank -1"));
    EXPECT_THAT(refused({.name = ""}), HasSubstr("\"\": a name has 1 to 200"));
    EXPECT_THAT(refused({.name = "a/b"}), HasSubstr("\"a/b\""));
    EXPECT_THAT(refused({.name = std::string(201, 'a')}), HasSubstr("1 to 200"));
    EXPECT_THAT(refused({.name = "a", .timeout = std::chrono::seconds(0)}), HasSubstr("timeout of 0"));
}

TEST(NodeCommunicator, RanksThatDoNotComeAreNamed) {
    const auto name = node_communicator_name();
    const auto message = tests::message_of<Error>([&] {
        (void)node_communicator(
            {.name = name, .rank = 1, .size = 3, .timeout = std::chrono::milliseconds(300)});
    });
    EXPECT_THAT(message,
                AllOf(HasSubstr("rank 1 of 3: waited 0.3 s: rank 0 (has not come), rank 2 (has not")));
    EXPECT_FALSE(has_name(name));
}

TEST(NodeCommunicator, ARankThatEndsBeforeTheOthersComeIsNamed) {
    ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        if (own.rank == 0) ::pause();
        const auto all = node_communicator(own);
        return "met";
    });
    while (ranks_come(ranks.name()) < 2) ::usleep(1000);
    ranks.kill(2);
    EXPECT_THAT(ranks.output(1), HasSubstr(ended(ranks, 2)));
}

TEST(NodeCommunicator, RanksThatDifferInTheirNumberAreTold) {
    const ForkedRanks ranks(2, [](NodeRanks own) {
        if (own.rank == 1) own.size = 3;
        const auto all = node_communicator(own);
        return std::string("met");
    });
    const auto both = ranks.output(0) + ranks.output(1);
    EXPECT_THAT(both, AllOf(HasSubstr("others say"), Not(HasSubstr("met"))));
}

TEST(NodeCommunicator, ARankThatComesTwiceIsTold) {
    const ForkedRanks ranks(3, [](NodeRanks own) {
        if (own.rank == 2) own.rank = 1;
        const auto all = node_communicator(own);
        return std::string("met");
    });
    const auto both = ranks.output(1) + ranks.output(2);
    EXPECT_THAT(both, AllOf(HasSubstr("rank 1 has come already, as process"), Not(HasSubstr("met"))));
}

TEST(NodeCommunicator, AnotherUsersSegmentIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs a user who can give files away";
    const auto name = node_communicator_name();
    const FileDescriptor file(::shm_open(shared_name(name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0666));
    ASSERT_EQ(::fchown(file.get(), 12345, 12345), 0);
    const auto message = tests::message_of<Error>([&] { (void)node_communicator({.name = name}); });
    EXPECT_THAT(message, HasSubstr("not a file of this user"));
    EXPECT_TRUE(has_name(name)) << "it is not ours";
    ::shm_unlink(shared_name(name).c_str());
}

TEST(NodeCommunicator, HasNoCommunicatorOfMpi) {
    const auto alone = node_communicator({.name = node_communicator_name()});
    EXPECT_EQ(tests::message_of<Error>([&] { (void)to_mpi(alone); }),
              "to_mpi: a communicator of node_communicator() has none of MPI");
}

/// An operation in which the last rank takes no part: it has said "here" and sleeps.
struct Waits {
    const char* name;
    std::function<void(const Communicator&)> action;
};

void PrintTo(const Waits& waits, std::ostream* out) {
    *out << waits.name;
}

class EndedRank : public testing::TestWithParam<Waits> {};

TEST_P(EndedRank, IsNamedWithItsProcessByAllOthers) {
    ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        all.barrier();
        if (own.rank == 2) {
            ForkedRanks::write_line("here");
            ::pause();
        }
        try {
            GetParam().action(all);
        } catch (const CommunicatorTimeout& error) {
            return fmt::format("{}; {} missing", error.what(), error.missing().size());
        }
        return "nothing was thrown";
    });
    ranks.wait_for_line(2, "here");
    ranks.kill(2);
    for (int rank = 0; rank < 2; ++rank)
        EXPECT_THAT(ranks.output(rank), AllOf(HasSubstr(ended(ranks, 2)), HasSubstr("; 1 missing")));
}

void exchange_with_last(const Communicator& all, std::size_t bytes, bool sends) {
    std::vector<std::byte> message(bytes);
    if (sends)
        all.send(std::span<const std::byte>(message), 2);
    else
        all.receive(std::span(message), 2);
}

const Waits waits[] = {
    {"barrier", [](const Communicator& all) { all.barrier(); }},
    {"tested_barrier",
     [](const Communicator& all) {
         for (auto request = all.start_barrier(); !request.test();) continue;
     }},
    {"allreduce",
     [](const Communicator& all) {
         std::vector<float> values(300'000);
         all.allreduce(std::span(values));
     }},
    {"receive", [](const Communicator& all) { exchange_with_last(all, 100, false); }},
    {"long_send", [](const Communicator& all) { exchange_with_last(all, 1'000'000, true); }},
    {"tested_receive",
     [](const Communicator& all) {
         std::vector<std::byte> message(10);
         for (auto request = all.start_receive(std::span(message), 2); !request.test();) continue;
     }},
    {"split", [](const Communicator& all) { (void)all.split(0, 0); }},
    {"allocate", [](const Communicator& all) { (void)all.allocate(100'000); }},
    {"more_operations_than_may_be_under_way",
     [](const Communicator& all) {
         std::vector<Request> requests;
         for (int i = 0; i < 100; ++i) requests.push_back(all.start_barrier());
     }},
};

INSTANTIATE_TEST_SUITE_P(NodeCommunicator, EndedRank, testing::ValuesIn(waits),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(NodeCommunicator, ARankThatEndsWithinALongSumIsNamed) {
    ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        std::vector<float> values(2'000'000, 1.0F);
        for (int round = 0;; ++round) {
            if (own.rank == 1 && round == 3) ForkedRanks::write_line("here");
            all.allreduce(std::span(values), Reduction::max);
        }
    });
    ranks.wait_for_line(1, "here");
    ranks.kill(1);
    EXPECT_THAT(ranks.output(0), HasSubstr(ended(ranks, 1)));
    EXPECT_THAT(ranks.output(2), HasSubstr(ended(ranks, 1)));
}

TEST(NodeCommunicator, ARankThatExitsWithoutTheLastOperationIsNamed) {
    const ForkedRanks ranks(2, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        if (own.rank == 1) std::_Exit(0);
        all.barrier();
        return "nothing was thrown";
    });
    EXPECT_THAT(ranks.output(0), HasSubstr(ended(ranks, 1)));
}

TEST(NodeCommunicator, ARankThatDestroysItsCommunicatorIsNamed) {
    const ForkedRanks ranks(2, [](const NodeRanks& own) -> std::string {
        if (own.rank == 1) {
            (void)node_communicator(own);
            ::pause();
        }
        node_communicator(own).barrier();
        return "nothing was thrown";
    });
    EXPECT_THAT(ranks.output(0), HasSubstr("rank 1 (has ended its communicator)"));
}

// What a rank did before its end is there for the others, however late they look.
TEST(NodeCommunicator, ARankMayExitAfterItsLastOperation) {
    const ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        std::vector<std::int64_t> values(2000, own.rank == 0 ? 7 : 0);
        all.broadcast(std::span(values));
        std::int64_t number = own.rank;
        if (own.rank == 0) {
            all.send(std::span<const std::int64_t>(&number, 1), 1);
            return "sent";
        }
        if (own.rank == 1) {
            ForkedRanks::write_line("here");
            std::int64_t from_parent = 0;
            ::usleep(300'000);  // longer than the others need; only a wait, not an oracle
            all.receive(std::span(&number, 1), 0);
            all.receive(std::span(&from_parent, 1), 2);
            return fmt::format("{} {} {}", values.back(), number, from_parent);
        }
        ::usleep(600'000);  // rank 1 waits for this one while rank 0 has long ended
        number = 42;
        all.send(std::span<const std::int64_t>(&number, 1), 1);
        return "sent";
    });
    ranks.wait_for_line(1, "here");
    EXPECT_EQ(ranks.output(1), "7 0 42");
}

TEST(NodeCommunicator, AnotherOneCanBeMadeByThoseThatAreLeft) {
    const auto second = node_communicator_name();
    ForkedRanks ranks(3, [&](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        if (own.rank == 2) {
            ForkedRanks::write_line("here");
            ::pause();
        }
        try {
            all.barrier();
        } catch (const CommunicatorTimeout&) {
        }
        const auto left = node_communicator({.name = second, .rank = own.rank, .size = 2});
        std::vector<float> values(500'000, 1.0F);
        {
            const auto request = left.start_allreduce(std::span(values));  // is waited for
        }
        return fmt::format("{}", std::accumulate(values.begin(), values.end(), 0.0));
    });
    ranks.wait_for_line(2, "here");
    ranks.kill(2);
    EXPECT_EQ(ranks.output(0), "1000000");
    EXPECT_EQ(ranks.output(1), "1000000");
}

TEST(NodeCommunicator, NamesInReportsAreThoseOfTheWholeWorld) {
    ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        const auto part = all.split(own.rank == 0 ? 0 : 1, 0);
        if (own.rank == 2) {
            ForkedRanks::write_line("here");
            ::pause();
        }
        if (own.rank == 0) return "";
        part.barrier();
        return "nothing was thrown";
    });
    ranks.wait_for_line(2, "here");
    ranks.kill(2);
    EXPECT_THAT(
        ranks.output(1),
        HasSubstr(fmt::format("rank 1 (rank 2 of the job; its process, {}, has ended)", ranks.pid(2))));
}

TEST(NodeCommunicator, TheDeadlineHoldsForARankThatLivesAndDoesNotCome) {
    ForkedRanks ranks(2, [](const NodeRanks& own) -> std::string {
        ::setenv("DTRAIN_COMM_TIMEOUT", "1", 1);
        const auto all = node_communicator(own);
        if (own.rank == 1) ::pause();
        all.barrier();
        return "nothing was thrown";
    });
    EXPECT_THAT(ranks.output(0), HasSubstr("for rank 1 (in no operation; it has called none yet)"));
}

TEST(NodeCommunicator, AForkedChildThatEndsIsNotTheRank) {
    const ForkedRanks ranks(2, [](const NodeRanks& own) -> std::string {
        std::optional<Communicator> all = node_communicator(own);
        if (own.rank == 1) {
            const auto child = ::fork();
            if (child == 0) {
                all.reset();
                ::_exit(0);
            }
            ::waitpid(child, nullptr, 0);
        }
        return fmt::format("{}", all->sum(std::int64_t{1}));
    });
    EXPECT_EQ(ranks.output(0), "2");
    EXPECT_EQ(ranks.output(1), "2");
}

/// A rank that nobody hears of any longer does not end a receive from any.
TEST(NodeCommunicator, AReceiveFromAnyGoesOnAfterARankThatLeftAndNotAfterOneThatFell) {
    ForkedRanks ranks(3, [](const NodeRanks& own) -> std::string {
        std::optional<Communicator> all = node_communicator(own);
        std::int64_t number = own.rank;
        if (own.rank == 0) {
            std::int64_t first = -1;
            std::int64_t second = -1;
            all->receive_any(std::span(&first, 1));
            ForkedRanks::write_line("one");
            try {
                all->receive_any(std::span(&second, 1));
            } catch (const CommunicatorTimeout& error) {
                return fmt::format("{} {}", first, error.what());
            }
            return "nothing was thrown";
        }
        if (own.rank == 1) {
            all->send(std::span<const std::int64_t>(&number, 1), 0);
            all.reset();
            return "left";
        }
        ForkedRanks::write_line("here");
        ::pause();
        return "";
    });
    ranks.wait_for_line(2, "here");
    ranks.wait_for_line(0, "one");
    EXPECT_EQ(ranks.output(1), "left");
    ranks.kill(2);
    EXPECT_THAT(ranks.output(0), AllOf(testing::StartsWith("1 "), HasSubstr(ended(ranks, 2))));
}

/// Segments of ours that a process has mapped: with a name, and without.
struct Mapped {
    int named = 0;
    int nameless = 0;
};

Mapped mapped_by(pid_t pid) {
    Mapped mapped;
    std::ifstream maps(fmt::format("/proc/{}/maps", pid));
    for (std::string line; std::getline(maps, line);)
        if (line.find("dtrain-messages-") != std::string::npos)
            ++(line.ends_with("(deleted)") ? mapped.nameless : mapped.named);
    return mapped;
}

TEST(NodeCommunicator, NothingStaysInSharedMemory) {
    ForkedRanks ranks(2, [](const NodeRanks& own) -> std::string {
        const auto all = node_communicator(own);
        const auto buffer = all.allocate(100'000);
        const auto part = all.duplicate();
        const auto transport = comm::open_transport(part);
        part.barrier();
        ForkedRanks::write_line("here");
        ::pause();
        return "";
    });
    for (const int rank : {0, 1}) ranks.wait_for_line(rank, "here");
    for (const int rank : {0, 1}) {
        const auto mapped = mapped_by(ranks.pid(rank));
        EXPECT_EQ(mapped.named, 0);
        EXPECT_EQ(mapped.nameless, 4) << "two communicators, a buffer and a transport";
    }
}

}  // namespace
}  // namespace dtrain
