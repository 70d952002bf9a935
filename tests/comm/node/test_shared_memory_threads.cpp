// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What ranks say to each other in memory that they share, said by threads that map it once: so that the
// thread sanitizer (tests/run --sanitize-threads) sees every access of every rank, and knows the memory model
// of C++ rather than that of the processor. Oracle: the sanitizer, and the numbers that each rank must find.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/signal_free_thread.hpp"
#include "comm/message/shared_messages.hpp"
#include "comm/node/node_board.hpp"

namespace dtrain::comm {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;

/// As the kernel gives it to several processes.
class SharedMemory {
  public:
    explicit SharedMemory(std::size_t bytes)
        : bytes_(bytes),
          memory_(static_cast<std::byte*>(
              ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    ~SharedMemory() { ::munmap(memory_, bytes_); }
    std::byte* data() const { return memory_; }

  private:
    std::size_t bytes_;
    std::byte* memory_;
};

/// Calls `action(rank, board)` in a thread for each rank, all at a time.
void on_a_board(const std::function<void(int, NodeBoard&)>& action) {
    const auto bytes = (NodeBoard::bytes_of_a_rank() + 4095) / 4096 * 4096;
    const SharedMemory memory(ranks * bytes);
    std::vector<std::byte*> parts;
    for (std::size_t rank = 0; rank < ranks; ++rank) parts.push_back(memory.data() + rank * bytes);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.push_back(signal_free_thread<std::jthread>([&, rank] {
            NodeBoard board(rank, parts);
            action(rank, board);
        }));
}

Call call_of(std::uint64_t number, int rank) {
    Call call;
    call.operation = number % 2 == 0 ? Operation::barrier : Operation::allreduce;
    call.count = number * 10 + static_cast<std::uint64_t>(rank);
    return call;
}

void wait_for_all(NodeBoard& board, std::uint64_t number) {
    for (int looks = 0;; ++looks) {
        const auto missing = board.not_come(number);
        if (!missing) return;
        if (looks > 3)
            board.sleep_until_come(*missing, number, 1ms);
        else
            std::this_thread::yield();
    }
}

void step_together(NodeBoard& board) {
    board.step();
    for (int looks = 0;; ++looks) {
        const auto missing = board.not_stepped(board.steps());
        if (!missing) return;
        if (looks > 3)
            board.sleep_until_stepped(*missing, board.steps(), 1ms);
        else
            std::this_thread::yield();
    }
}

void expect_counts(const NodeBoard& board, std::uint64_t number) {
    for (int other = 0; other < ranks; ++other)
        ASSERT_EQ(board.announcement(other, number).count, number * 10 + static_cast<std::uint64_t>(other));
}

TEST(SharedMemoryThreads, ShortOperationsInSlots) {
    on_a_board([](int rank, NodeBoard& board) {
        for (std::uint64_t number = 1; number <= 2000; ++number) {
            while (!board.has_room(number)) std::this_thread::yield();
            std::optional<int> slot;
            while (!(slot = board.take_slot(number))) std::this_thread::yield();
            const auto sent = number * 100 + static_cast<std::uint64_t>(rank);
            std::memcpy(board.slot(rank, *slot), &sent, sizeof(sent));
            board.announce(number, call_of(number, rank), std::nullopt, *slot);
            wait_for_all(board, number);
            expect_counts(board, number);
            for (int other = 0; other < ranks; ++other) {
                std::uint64_t received = 0;
                std::memcpy(&received, board.slot(other, board.announcement(other, number).slot),
                            sizeof(received));
                ASSERT_EQ(received, number * 100 + static_cast<std::uint64_t>(other));
            }
            board.note_finished(number);
        }
    });
}

TEST(SharedMemoryThreads, LongOperationsInPieces) {
    on_a_board([](int rank, NodeBoard& board) {
        for (std::size_t piece = 0; piece < 500; ++piece) {
            auto* const own = board.piece(rank, 0, piece);
            std::fill_n(own, 64, static_cast<std::byte>(piece + static_cast<std::size_t>(rank)));
            step_together(board);
            for (int other = 0; other < ranks; ++other)
                ASSERT_EQ(board.piece(other, 0, piece)[63],
                          static_cast<std::byte>(piece + static_cast<std::size_t>(other)));
        }
        step_together(board);
    });
}

// Operations that are over for a rank before the others have come, as those that fail are. The rank learns
// from what the others announce how far they are, and says something new where they have read. Nobody sleeps:
// whoever is woken has been told by the number of sleepers, too.
TEST(SharedMemoryThreads, AnnouncementsOfARankThatDoesNotWait) {
    static constexpr std::uint64_t last = 3000;
    static constexpr std::uint64_t ahead = 20;
    on_a_board([](int rank, NodeBoard& board) {
        std::uint64_t announced = 0;
        const auto announce_until = [&](std::uint64_t number) {
            while (announced < number && board.has_room(announced + 1)) {
                ++announced;
                board.announce(announced, call_of(announced, rank), std::nullopt, -1);
            }
        };
        for (std::uint64_t number = 1; number <= last; ++number) {
            const auto wanted = std::min(last, number + (rank == 0 ? 0 : ahead));
            for (announce_until(wanted); announced < number; announce_until(wanted))
                std::this_thread::yield();
            if (rank == 0) {
                // The others have announced this one by then, and are further.
                std::this_thread::sleep_for(10us);
            } else {
                while (board.not_come(number)) std::this_thread::yield();
                expect_counts(board, number);
            }
            board.note_finished(number);
        }
    });
}

TEST(SharedMemoryThreads, WhoWaitsForWhom) {
    std::atomic<int> raised = 0;
    on_a_board([&](int rank, NodeBoard& board) {
        for (std::uint64_t number = 1; number <= 300; ++number) {
            while (!board.has_room(number)) std::this_thread::yield();
            board.announce(number, call_of(number, rank), std::nullopt, -1);
            board.note_waits(number, call_of(number, rank).operation);
            for (int other = 0; other < ranks; ++other) {
                const auto at = board.whereabouts(other);
                ASSERT_TRUE(at.announced == 0 || at.operation == call_of(at.announced, other).operation);
                ASSERT_TRUE(at.waits_in == 0 || at.waits_for == call_of(at.waits_in, other).operation);
            }
            wait_for_all(board, number);
            board.note_goes_on();
            board.note_finished(number);
        }
        board.note_failure(static_cast<std::uint64_t>(rank) + 1);
        if (board.raise_alarm(301)) ++raised;
        EXPECT_EQ(board.alarm(), 301U);
    });
    EXPECT_EQ(raised, 1);
}

TEST(SharedMemoryThreads, MessagesInBlocksThatAreUsedAgain) {
    constexpr std::size_t messages = 3000;
    std::vector<std::shared_ptr<SharedSegment>> segments;
    for (int rank = 0; rank < 2; ++rank) {
        segments.push_back(SharedSegment::make(std::size_t{1} << 20U));
        if (segments.back() == nullptr) GTEST_SKIP() << "there is no room in /dev/shm";
        segments.back()->hide();
    }
    // Nothing but the messages' own blocks orders what the two do.
    std::vector<std::atomic<std::uint64_t>> offsets(messages);
    const auto size_of = [](std::size_t number) { return 4096 + number % 3 * 4096; };
    const auto send = [&] {
        SharedMessages own(0, segments);
        for (std::size_t i = 0; i < messages; ++i) {
            std::optional<MessageBytes> message;
            while (!(message = own.memory(size_of(i)))) std::this_thread::yield();
            std::ranges::fill(message->bytes(), static_cast<std::byte>(i));
            const auto location = own.location_for(1, *message);
            ASSERT_TRUE(location && location->size == size_of(i));
            std::move(*message).leave_to_reader();
            offsets[i].store(location->offset, std::memory_order_relaxed);
        }
        EXPECT_LE(own.bytes(), std::size_t{1} << 20U);
    };
    const SharedMessages reader(1, segments);
    const auto receive = [&](std::size_t number) -> MessageBytes {
        for (;; std::this_thread::yield()) {
            const auto offset = offsets[number].load(std::memory_order_relaxed);
            if (offset == 0) continue;
            try {
                return reader.message(0, {offset, size_of(number)});
            } catch (const Error&) {  // a processor may show the location before the block
            }
        }
    };
    const auto sender = signal_free_thread<std::jthread>(send);
    for (std::size_t i = 0; i < messages; ++i) {
        const auto message = receive(i);
        ASSERT_EQ(static_cast<std::size_t>(std::ranges::count(message.bytes(), static_cast<std::byte>(i))),
                  message.size());
    }
}

}  // namespace
}  // namespace dtrain::comm
