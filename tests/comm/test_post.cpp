// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: each letter arrives once, whole, and in the order of its sender; how many calls a letter that is
// there may wait. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/post.hpp"
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

void expect_all_letters(Post& post, int letters) {
    for (int number = 0; number < letters; ++number)
        for (int to = 0; to < post.size(); ++to) {
            auto content = post.memory(length_of(number));
            for (std::size_t i = 0; i < content.size(); ++i)
                content.data()[i] = content_of(post.rank(), number, i);
            post.send(to, std::move(content));
        }
    std::vector<int> next(static_cast<std::size_t>(post.size()));
    for (int left = letters * post.size(); left > 0;) {
        auto letter = post.receive();
        if (!letter) continue;
        --left;
        const int number = next[static_cast<std::size_t>(letter->from)]++;
        ASSERT_EQ(letter->content.size(), length_of(number));
        for (std::size_t i = 0; i < letter->content.size(); ++i)
            ASSERT_EQ(letter->content.data()[i], content_of(letter->from, number, i));
        post.recycle(std::move(letter->content));
    }
    while (!post.deliver()) continue;
    EXPECT_FALSE(post.receive());
}

TEST(Post, BringsEachLetterOnceInOrder) {
    const auto post = open_post(test_world());
    EXPECT_EQ(post->rank(), test_world().rank());
    EXPECT_EQ(post->size(), test_world().size());
    expect_all_letters(*post, 60);
}

TEST(Post, DoesNotMixWithAnother) {
    const auto one = open_post(test_world());
    const auto other = open_post(test_world());
    auto content = one->memory(1);
    content.data()[0] = std::byte{5};
    one->send((one->rank() + 1) % one->size(), std::move(content));
    expect_all_letters(*other, 3);
    std::optional<Letter> letter;
    while (!letter) letter = one->receive();
    EXPECT_EQ(letter->content.data()[0], std::byte{5});
    while (!one->deliver()) continue;
    test_world().barrier();
}

constexpr int many = 200;

void send_short(Post& post, int to) {
    auto content = post.memory(1);
    content.data()[0] = std::byte{1};
    post.send(to, std::move(content));
}

// Others' letters before the one of `rare`, and takes all.
int letters_before(Post& post, int rare, int letters) {
    int before = -1;
    for (int found = 0; found < letters;) {
        const auto letter = post.receive();
        if (!letter) continue;
        if (letter->from == rare) before = found;
        ++found;
    }
    return before;
}

TEST(Post, BringsALetterSoonHoweverManyOthersHaveSentBefore) {
    const auto posts = local_posts(5);
    for (int i = 0; i < many; ++i)
        for (const int busy : {1, 3}) send_short(*posts[static_cast<std::size_t>(busy)], 0);
    send_short(*posts[2], 0);
    EXPECT_LE(letters_before(*posts[0], 2, 2 * many + 1), 9 * 5);
}

/// MPICH takes no more than a message from memory in a call; until then it has not arrived.
void take_what_others_have_sent() {
    int arrived = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &arrived, MPI_STATUS_IGNORE);
}

/// Returns when all have sent theirs.
void have_sent(Post& post) {
    while (!post.deliver()) take_what_others_have_sent();
    auto others = test_world().start_barrier();
    while (!others.test()) take_what_others_have_sent();
}

TEST(Post, BringsARanksLetterSoonHoweverManyOthersHaveSentBefore) {
    const auto post = open_post(test_world());
    const int rare = post->size() - 1;
    const int of_busy = many * std::max(rare - 1, 0);
    const bool is_busy = post->rank() > 0 && post->rank() < rare;
    for (int i = 0; is_busy && i < many; ++i) send_short(*post, 0);
    have_sent(*post);
    if (post->rank() == rare && rare > 0) send_short(*post, 0);
    have_sent(*post);
    if (post->rank() == 0 && rare > 0) {
        for (int i = 0; i <= of_busy; ++i) take_what_others_have_sent();
        EXPECT_LE(letters_before(*post, rare, of_busy + 1), 9 * post->size());
    }
    test_world().barrier();
}

TEST(Post, OfAWorldOfOneWritesToItself) {
    const auto post = open_post(Communicator());
    expect_all_letters(*post, 10);
}

/// While it lives malloc() does not write to what it hands out: `MALLOC_PERTURB_`, which `meson test` sets,
/// would fill gigabytes that nobody reads.
class UnfilledMemory {
  public:
    UnfilledMemory() { ::mallopt(M_PERTURB, 0); }
    UnfilledMemory(const UnfilledMemory&) = delete;
    UnfilledMemory& operator=(const UnfilledMemory&) = delete;
    ~UnfilledMemory() {
        const char* asked = std::getenv("MALLOC_PERTURB_");
        if (asked != nullptr) ::mallopt(M_PERTURB, std::atoi(asked));
    }
};

TEST(Post, RefusesALetterThatIsTooLongForAMessageOfMpi) {
    const auto post = open_post(test_world());
    const UnfilledMemory unfilled;
    LetterBytes content;
    content.resize(std::size_t{1} << 31U);  // nobody touches it
    EXPECT_EQ(tests::message_of<LetterTooLong>([&] { post->send(0, std::move(content)); }),
              "a letter of 2147483648 bytes; it may have 2147483647 at most");
    expect_all_letters(*post, 3);
}

TEST(Post, GivesTheSmallestMemoryThatIsEnoughAndThatWhichWasUsedLast) {
    const auto post = std::move(local_posts(1)[0]);
    std::vector<LetterBytes> used;
    for (const std::size_t size : {10000, 5000, 5000, 100}) used.push_back(post->memory(size));
    std::vector<const std::byte*> places;
    for (auto& content : used) places.push_back(content.data());
    for (auto& content : used) post->recycle(std::move(content));
    const auto first = post->memory(4000);
    EXPECT_EQ(first.bytes().data(), places[2]);
    EXPECT_EQ(post->memory(4000).bytes().data(), places[1]);
    const auto second = post->memory(5001);
    EXPECT_EQ(second.bytes().data(), places[0]);
    EXPECT_EQ(post->memory(3).bytes().data(), places[3]);
    EXPECT_EQ(first.size(), 4000U);
}

TEST(LetterBytes, KeepTheirBytesWhenTheyGrow) {
    LetterBytes bytes;
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
