// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_board.hpp"

#include <algorithm>
#include <bit>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free);

/// Futexes have 32 bits: the lower half changes with every change of the number.
std::uint32_t* futex_of(Word& word) {
    auto* halves = reinterpret_cast<std::uint32_t*>(&word);
    return std::endian::native == std::endian::little ? halves : halves + 1;
}

/// A number and its operation are one word, so that they are always read together.
constexpr unsigned operation_bits = 8;
static_assert(sizeof(Operation) * 8 <= operation_bits);

std::uint64_t numbered(std::uint64_t number, Operation operation) {
    return (number << operation_bits) | static_cast<std::uint64_t>(operation);
}

std::uint64_t number_in(std::uint64_t word) {
    return word >> operation_bits;
}

Operation operation_in(std::uint64_t word) {
    return static_cast<Operation>(word & ((std::uint64_t{1} << operation_bits) - 1));
}

void sleep_while(Word& word, std::uint64_t value, std::chrono::milliseconds max) {
    const timespec limit{max.count() / 1000, max.count() % 1000 * 1'000'000};
    ::syscall(SYS_futex, futex_of(word), FUTEX_WAIT, static_cast<std::uint32_t>(value), &limit, nullptr, 0);
}

/// Two ranks read one slot each, which is faster than pieces up to the length of a slot.
std::size_t slot_limit_of(std::size_t ranks) {
    constexpr std::size_t of_many = std::size_t{16} << 10U;
    constexpr std::size_t of_all_together = std::size_t{64} << 10U;
    return ranks == 2 ? NodeBoard::slot_bytes : std::min(of_many, of_all_together / ranks);
}

}  // namespace

/// Numbers that different ranks write or read at different times are on different cache lines.
struct NodeBoard::Transport {
    alignas(64) std::atomic<std::uint64_t> steps;
    alignas(64) std::atomic<std::uint32_t> sleepers;
    alignas(64) std::atomic<std::uint64_t> announced;  ///< numbered()
    std::atomic<std::uint64_t> finished;
    std::atomic<std::uint64_t> waits_in;  ///< numbered()
    std::atomic<std::uint64_t> failure;
    alignas(64) std::atomic<std::uint64_t> alarm;  // first rank only
    Announcement announcements[ring];
    alignas(4096) std::byte slots[NodeBoard::slots][slot_bytes];
    std::byte pieces[2][2][piece_bytes];

    void publish(Word& word, std::uint64_t value) {
        word.store(value, std::memory_order_seq_cst);
        if (sleepers.load(std::memory_order_seq_cst) > 0)
            ::syscall(SYS_futex, futex_of(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }

    template <class Reached>
    void sleep(Word& word, const Reached& reached, std::chrono::milliseconds max) {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        const auto value = word.load(std::memory_order_seq_cst);
        if (!reached(value)) sleep_while(word, value, max);
        sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
};

NodeBoard::NodeBoard(MPI_Comm node) : window_(std::make_unique<const Window>(node, sizeof(Transport))) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    std::vector<std::byte*> parts;
    for (int other = 0; other < size; ++other) parts.push_back(window_->part(other).data());
    use(rank, parts);
}

NodeBoard::NodeBoard(int rank, std::span<std::byte* const> parts) {
    use(rank, parts);
}

std::size_t NodeBoard::bytes_of_a_rank() {
    return sizeof(Transport);
}

void NodeBoard::use(int rank, std::span<std::byte* const> parts) {
    rank_ = rank;
    size_ = static_cast<int>(parts.size());
    for (auto* const part : parts) transports_.push_back(std::launder(reinterpret_cast<Transport*>(part)));
    slot_limit_ = slot_limit_of(parts.size());
}

std::byte* NodeBoard::slot(int rank, int slot) const {
    return transport(rank).slots[slot];
}

std::byte* NodeBoard::piece(int rank, int set, std::size_t number) const {
    return transport(rank).pieces[set][number % 2];
}

std::uint64_t NodeBoard::finished_by_all() {
    auto min = transport(rank_).finished.load(std::memory_order_relaxed);
    for (int other = 0; other < size_; ++other)
        min = std::min(min, transport(other).finished.load(std::memory_order_acquire));
    return finished_by_all_ = std::max(finished_by_all_, min);
}

std::optional<int> NodeBoard::take_slot(std::uint64_t number) {
    for (const bool look_again : {false, true}) {
        const auto finished = look_again ? finished_by_all() : finished_by_all_;
        for (std::size_t slot = 0; slot < slots; ++slot) {
            if (slot_users_[slot] > finished) continue;
            slot_users_[slot] = number;
            return static_cast<int>(slot);
        }
    }
    return std::nullopt;
}

bool NodeBoard::has_room(std::uint64_t number) {
    return number <= finished_by_all_ + ring || number <= finished_by_all() + ring;
}

void NodeBoard::announce(std::uint64_t number, const Call& call, std::optional<Window::Position> position,
                         int slot, Way way) {
    auto& own = transport(rank_);
    own.announced.store(numbered(number, call.operation), std::memory_order_relaxed);
    auto& said = own.announcements[number % ring];
    said.finished.store(own.finished.load(std::memory_order_relaxed), std::memory_order_release);
    said.count = call.count;
    said.window = position ? position->window->id() : 0;
    said.offset = position ? position->offset : 0;
    said.address = reinterpret_cast<std::uintptr_t>(call.send != nullptr ? call.send : call.receive);
    said.peer = call.peer;
    said.operation = call.operation;
    said.element = call.element;
    said.reduction = call.reduction;
    said.way = way;
    said.slot = static_cast<std::int8_t>(slot);
    own.publish(said.number, number);
}

const Announcement& NodeBoard::announcement(int rank, std::uint64_t number) const {
    return transport(rank).announcements[number % ring];
}

void NodeBoard::note_finished(std::uint64_t number) {
    // The others' `finished` values come with the announcements, which have been read anyway. A rank that has
    // not waited for the others learns only from this load that they have read the slots that it writes next.
    auto min = number;
    for (int other = 0; other < size_; ++other)
        min = std::min(min, announcement(other, number).finished.load(std::memory_order_acquire));
    finished_by_all_ = std::max(finished_by_all_, min);
    transport(rank_).finished.store(number, std::memory_order_release);
}

void NodeBoard::step() {
    auto& own = transport(rank_);
    own.publish(own.steps, ++steps_);
}

std::optional<int> NodeBoard::not_come(std::uint64_t number) const {
    for (int other = 0; other < size_; ++other)
        if (announcement(other, number).number.load(std::memory_order_acquire) != number) return other;
    return std::nullopt;
}

std::optional<int> NodeBoard::not_stepped(std::uint64_t steps) const {
    for (int other = 0; other < size_; ++other)
        if (transport(other).steps.load(std::memory_order_acquire) < steps) return other;
    return std::nullopt;
}

void NodeBoard::sleep_until_come(int rank, std::uint64_t number, std::chrono::milliseconds max) const {
    auto& other = transport(rank);
    const auto come = [number](std::uint64_t value) { return value == number; };
    other.sleep(other.announcements[number % ring].number, come, max);
}

void NodeBoard::sleep_until_stepped(int rank, std::uint64_t steps, std::chrono::milliseconds max) const {
    auto& other = transport(rank);
    other.sleep(
        other.steps, [steps](std::uint64_t value) { return value >= steps; }, max);
}

void NodeBoard::note_waits(std::uint64_t number, Operation operation) {
    transport(rank_).waits_in.store(numbered(number, operation), std::memory_order_relaxed);
}

void NodeBoard::note_goes_on() {
    transport(rank_).waits_in.store(0, std::memory_order_relaxed);
}

void NodeBoard::note_failure(std::uint64_t code) {
    transport(rank_).failure.store(code);
}

NodeBoard::Whereabouts NodeBoard::whereabouts(int rank) const {
    const auto& of = transport(rank);
    const auto announced = of.announced.load();
    const auto waits_in = of.waits_in.load();
    return {.announced = number_in(announced),
            .finished = of.finished.load(),
            .steps = of.steps.load(),
            .operation = operation_in(announced),
            .waits_in = number_in(waits_in),
            .waits_for = operation_in(waits_in),
            .failure = of.failure.load()};
}

bool NodeBoard::raise_alarm(std::uint64_t number) const {
    std::uint64_t none = 0;
    return transport(0).alarm.compare_exchange_strong(none, number);
}

std::uint64_t NodeBoard::alarm() const {
    return transport(0).alarm.load(std::memory_order_relaxed);
}

bool NodeBoard::was_given_up() const {
    // The announcement and the alarm are sequentially consistent, too.
    return transport(0).alarm.load(std::memory_order_seq_cst) != 0;
}

}  // namespace dtrain::comm
