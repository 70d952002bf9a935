// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/api/call.hpp"
#include "comm/node/faster_way.hpp"
#include "comm/node/window.hpp"

namespace dtrain::comm {

/// What a rank announces about one of its operations to the ranks of its node.
struct alignas(64) Announcement {
    std::atomic<std::uint64_t> number;    ///< written last
    std::atomic<std::uint64_t> finished;  ///< operations that the rank had finished by then
    std::uint64_t count;
    std::uint64_t window;  ///< Window::id(), 0: other memory
    std::uint64_t offset;
    std::uint64_t address;  ///< of what the others may read, in its process
    std::int32_t peer;
    Operation operation;
    DataType element;
    Reduction reduction;
    Way way;  ///< first rank only: how a long operation is to be done
    std::int8_t
        slot;  ///< the slot with the rank's data; none if they are too long. all_to_allv: with offsets
};

/// The memory through which the ranks of a node synchronise. Each rank writes its own part of it:
/// - announcements, one per operation, in a ring: the number shows that the rank has entered the operation;
/// - steps, a counter: within an operation, all ranks make the same steps;
/// - slots for data of short operations, which are sent with the announcement;
/// - pieces, through which data of long operations are passed. A rank that waits for a number spins, yields
/// and then sleeps until its writer wakes it.
class NodeBoard {
  public:
    static constexpr std::size_t ring = 64;  ///< maximum number of pending operations
    static constexpr std::size_t slots = 4;
    static constexpr std::size_t slot_bytes = std::size_t{64} << 10U;
    static constexpr std::size_t piece_bytes = std::size_t{256} << 10U;

    /// Collective over `node`.
    explicit NodeBoard(MPI_Comm node);
    /// Uses memory of the caller, which must outlive this object: for each rank bytes_of_a_rank() bytes,
    /// initially zero, at a multiple of 4096.
    NodeBoard(int rank, std::span<std::byte* const> parts);
    static std::size_t bytes_of_a_rank();

    int rank() const { return rank_; }
    int size() const { return size_; }

    /// The longest data that a slot takes: shorter with more than two ranks, because each reads all slots.
    std::size_t slot_limit() const { return slot_limit_; }

    /// A free slot; none if others may still read all of them.
    std::optional<int> take_slot(std::uint64_t number);
    std::byte* slot(int rank, int slot) const;
    /// Two sets of two pieces.
    std::byte* piece(int rank, int set, std::size_t number) const;

    /// True if the ring has room for an operation of this number.
    bool has_room(std::uint64_t number);
    void announce(std::uint64_t number, const Call& call, std::optional<Window::Position> position, int slot,
                  Way way = Way::pieces);
    const Announcement& announcement(int rank, std::uint64_t number) const;
    void note_finished(std::uint64_t number);

    void step();
    std::uint64_t steps() const { return steps_; }

    /// The first rank that has not arrived: without an announcement of an operation, or without enough steps.
    std::optional<int> not_come(std::uint64_t number) const;
    std::optional<int> not_stepped(std::uint64_t steps) const;
    /// Sleeps until the rank may have arrived, or made the steps, or the time is over.
    void sleep_until_come(int rank, std::uint64_t number, std::chrono::milliseconds max) const;
    void sleep_until_stepped(int rank, std::uint64_t steps, std::chrono::milliseconds max) const;

    /// Publishes this rank's state for ranks that look for missing ones.
    void note_waits(std::uint64_t number, Operation operation);
    void note_goes_on();
    /// Publishes a failure of this rank, as an error code of its backend that is not 0.
    void note_failure(std::uint64_t code);
    struct Whereabouts {
        std::uint64_t announced = 0;  ///< its last operation
        std::uint64_t finished = 0;
        std::uint64_t steps = 0;
        Operation operation = Operation::barrier;  ///< of `announced`
        std::uint64_t waits_in = 0;                ///< 0 if it waits in none
        Operation waits_for = Operation::barrier;  ///< of `waits_in`
        std::uint64_t failure = 0;                 ///< the code passed to note_failure()
    };
    Whereabouts whereabouts(int rank) const;

    /// Reports that a rank of the node has passed its deadline. True for the first rank that reports it.
    bool raise_alarm(std::uint64_t number) const;
    /// The operation in which that rank waited; 0 without an alarm.
    std::uint64_t alarm() const;
    /// Whether there is an alarm by ranks that had not seen this one's announcement. Otherwise they see it.
    bool was_given_up() const;

  private:
    struct Transport;
    void use(int rank, std::span<std::byte* const> parts);
    Transport& transport(int rank) const { return *transports_[static_cast<std::size_t>(rank)]; }
    std::uint64_t finished_by_all();

    int rank_ = 0;
    int size_ = 1;
    std::size_t slot_limit_ = slot_bytes;
    std::uint64_t steps_ = 0;
    std::uint64_t finished_by_all_ = 0;
    std::uint64_t slot_users_[slots] = {};
    std::unique_ptr<const Window> window_;  ///< null: the memory belongs to the caller
    std::vector<Transport*> transports_;    ///< by rank
};

}  // namespace dtrain::comm
