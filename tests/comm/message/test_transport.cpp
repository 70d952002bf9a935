// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: each message arrives once, whole, and in the order of its sender; how many calls a message that is
// there may wait. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/message/transport.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain::comm {
namespace {

// Beyond what MPI sends at once, and short ones.
std::size_t length_of(int number) {
    return number % 3 == 0 ? static_cast<std::size_t>(number) * 7919 : static_cast<std::size_t>(number % 5);
}

std::byte content_of(int from, int number, std::size_t i) {
    return static_cast<std::byte>(static_cast<std::size_t>(from) * 31 + static_cast<std::size_t>(number) * 7 +
                                  i);
}

void expect_all_messages(Transport& transport, int messages) {
    for (int number = 0; number < messages; ++number)
        for (int to = 0; to < transport.size(); ++to) {
            auto content = transport.memory(length_of(number));
            for (std::size_t i = 0; i < content.size(); ++i)
                content.data()[i] = content_of(transport.rank(), number, i);
            transport.send(to, std::move(content));
        }
    std::vector<int> next(static_cast<std::size_t>(transport.size()));
    for (int left = messages * transport.size(); left > 0;) {
        auto message = transport.receive();
        if (!message) continue;
        --left;
        const int number = next[static_cast<std::size_t>(message->from)]++;
        ASSERT_EQ(message->content.size(), length_of(number));
        for (std::size_t i = 0; i < message->content.size(); ++i)
            ASSERT_EQ(message->content.data()[i], content_of(message->from, number, i));
        transport.recycle(std::move(message->content));
    }
    while (!transport.deliver()) continue;
    EXPECT_FALSE(transport.receive());
}

TEST(Transport, BringsEachMessageOnceInOrder) {
    const auto transport = open_transport(test_world());
    EXPECT_EQ(transport->rank(), test_world().rank());
    EXPECT_EQ(transport->size(), test_world().size());
    expect_all_messages(*transport, 60);
}

TEST(Transport, DoesNotMixWithAnother) {
    const auto one = open_transport(test_world());
    const auto other = open_transport(test_world());
    auto content = one->memory(1);
    content.data()[0] = std::byte{5};
    one->send((one->rank() + 1) % one->size(), std::move(content));
    expect_all_messages(*other, 3);
    std::optional<Message> message;
    while (!message) message = one->receive();
    EXPECT_EQ(message->content.data()[0], std::byte{5});
    while (!one->deliver()) continue;
    test_world().barrier();
}

constexpr int many = 200;

void send_short(Transport& transport, int to) {
    auto content = transport.memory(1);
    content.data()[0] = std::byte{1};
    transport.send(to, std::move(content));
}

// Others' messages before the one of `rare`, and takes all.
int messages_before(Transport& transport, int rare, int messages) {
    int before = -1;
    for (int found = 0; found < messages;) {
        const auto message = transport.receive();
        if (!message) continue;
        if (message->from == rare) before = found;
        ++found;
    }
    return before;
}

TEST(Transport, BringsAMessageSoonHoweverManyOthersHaveSentBefore) {
    const auto transports = local_transports(5);
    for (int i = 0; i < many; ++i)
        for (const int busy : {1, 3}) send_short(*transports[static_cast<std::size_t>(busy)], 0);
    send_short(*transports[2], 0);
    EXPECT_LE(messages_before(*transports[0], 2, 2 * many + 1), 9 * 5);
}

/// MPICH takes no more than one message from memory in a call; until then it has not arrived.
void take_what_others_have_sent() {
    if (!mpi_is_running()) return;
    int arrived = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &arrived, MPI_STATUS_IGNORE);
}

/// Returns when all have sent theirs.
void have_sent(Transport& transport) {
    while (!transport.deliver()) take_what_others_have_sent();
    auto others = test_world().start_barrier();
    while (!others.test()) take_what_others_have_sent();
}

TEST(Transport, BringsARanksMessageSoonHoweverManyOthersHaveSentBefore) {
    const auto transport = open_transport(test_world());
    const int rare = transport->size() - 1;
    const int of_busy = many * std::max(rare - 1, 0);
    const bool is_busy = transport->rank() > 0 && transport->rank() < rare;
    for (int i = 0; is_busy && i < many; ++i) send_short(*transport, 0);
    have_sent(*transport);
    if (transport->rank() == rare && rare > 0) send_short(*transport, 0);
    have_sent(*transport);
    if (transport->rank() == 0 && rare > 0) {
        for (int i = 0; i <= of_busy; ++i) take_what_others_have_sent();
        EXPECT_LE(messages_before(*transport, rare, of_busy + 1), 9 * transport->size());
    }
    test_world().barrier();
}

TEST(Transport, OfAWorldOfOneWritesToItself) {
    const auto transport = open_transport(Communicator());
    expect_all_messages(*transport, 10);
}

/// While it lives malloc() does not write to what it hands out: `MALLOC_PERTURB_`, which `meson test` sets,
/// would fill gigabytes that nobody reads.
class UnfilledMemory {
  public:
    UnfilledMemory() { ::mallopt(M_PERTURB, 0); }
    UnfilledMemory(const UnfilledMemory&) = delete;
    UnfilledMemory& operator=(const UnfilledMemory&) = delete;
    ~UnfilledMemory() {
        const char* perturb = std::getenv("MALLOC_PERTURB_");
        if (perturb != nullptr) ::mallopt(M_PERTURB, std::atoi(perturb));
    }
};

TEST(Transport, RefusesAMessageThatIsTooLongForAMessageOfMpi) {
    const auto transport = open_transport(test_world());
    const UnfilledMemory unfilled;
    MessageBytes content;
    content.resize(std::size_t{1} << 31U);  // nobody touches it
    EXPECT_EQ(tests::message_of<MessageTooLong>([&] { transport->send(0, std::move(content)); }),
              "a message of 2147483648 bytes; it may have 2147483647 at most");
    expect_all_messages(*transport, 3);
}

TEST(Transport, GivesTheSmallestMemoryThatIsEnoughAndThatWhichWasUsedLast) {
    const auto transport = std::move(local_transports(1)[0]);
    std::vector<MessageBytes> used;
    for (const std::size_t size : {10000, 5000, 5000, 100}) used.push_back(transport->memory(size));
    std::vector<const std::byte*> addresses;
    for (auto& content : used) addresses.push_back(content.data());
    for (auto& content : used) transport->recycle(std::move(content));
    const auto first = transport->memory(4000);
    EXPECT_EQ(first.bytes().data(), addresses[2]);
    EXPECT_EQ(transport->memory(4000).bytes().data(), addresses[1]);
    const auto second = transport->memory(5001);
    EXPECT_EQ(second.bytes().data(), addresses[0]);
    EXPECT_EQ(transport->memory(3).bytes().data(), addresses[3]);
    EXPECT_EQ(first.size(), 4000U);
}

TEST(MessageBytes, KeepTheirBytesWhenTheyGrow) {
    MessageBytes bytes;
    bytes.resize(3);
    std::memcpy(bytes.data(), "abc", 3);
    bytes.resize(5000);
    EXPECT_EQ(std::memcmp(bytes.data(), "abc", 3), 0);
    const auto capacity = bytes.capacity();
    bytes.resize(1);
    EXPECT_EQ(bytes.capacity(), capacity);
    EXPECT_EQ(bytes.size(), 1U);
}

}  // namespace
}  // namespace dtrain::comm
