// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_rendezvous.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/host.hpp"
#include "base/huge_pages.hpp"
#include "comm/failure/rank_process.hpp"
#include "comm/mpi/same_version.hpp"
#include "comm/node/backoff.hpp"

namespace dtrain::comm {
namespace {

constexpr int max_ranks = 1024;
constexpr std::size_t max_name = 200;
// Leftovers of killed jobs are recognised by this (base/leftovers.cpp).
constexpr std::string_view name_prefix = "/dtrain-messages-";
constexpr std::chrono::milliseconds looks_for_ranks_every{1};
constexpr std::chrono::milliseconds processes_checked_every{100};
constexpr std::size_t word_bytes = 256;

std::size_t page_multiple(std::size_t bytes) {
    return (bytes + memory_page - 1) / memory_page * memory_page;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

std::string missing_text(const std::vector<MissingRank>& missing) {
    std::vector<std::string> texts;
    for (const auto& [rank, why] : missing) texts.push_back(fmt::format("rank {} ({})", rank, why));
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

// Both structs are the same in all versions up to `version`: ranks of different versions tell each other by
// them that they differ.

struct NodeRendezvous::Head {
    std::atomic<std::uint32_t> size;       ///< number of ranks; 0: nobody has come
    std::atomic<std::uint32_t> come;       ///< ranks that have taken their slots
    std::atomic<std::uint32_t> is_hidden;  ///< all have come, and the name is gone
    std::atomic<std::uint32_t> gave_up;    ///< a rank did not wait any longer
};

struct alignas(64) NodeRendezvous::RankSlot {
    std::atomic<std::uint32_t> is_taken;
    std::atomic<std::uint32_t> has_come;  ///< what follows has been written
    std::array<char, 64> version;
    RankProcess process;
    std::atomic<std::uint32_t> has_left;
    std::atomic<std::uint32_t> has_given_up;
    std::atomic<std::uint64_t> exchanged;  ///< halves of exchanges
    std::array<std::byte, word_bytes> word;
};

void check_node_ranks(const NodeRanks& ranks) {
    if (ranks.size < 1 || ranks.size > max_ranks)
        throw UsageError(
            fmt::format("node_communicator of {} ranks: it has 1 to {} of them", ranks.size, max_ranks));
    if (ranks.rank < 0 || ranks.rank >= ranks.size)
        throw UsageError(
            fmt::format("node_communicator as rank {}: ranks are 0 to {}", ranks.rank, ranks.size - 1));
    if (ranks.name.empty() || ranks.name.size() > max_name ||
        !std::ranges::all_of(ranks.name, is_name_character))
        throw UsageError(fmt::format(
            "node_communicator of the name \"{}\": a name has 1 to {} letters, digits, \"-\", \"_\" "
            "and \".\"; node_communicator_name() makes one",
            ranks.name, max_name));
    if (!(ranks.timeout.count() > 0))
        throw UsageError(fmt::format("node_communicator with a timeout of {} s: it is more than 0",
                                     ranks.timeout.count()));
}

NodeRendezvous::NodeRendezvous(const NodeRanks& ranks, std::size_t bytes_of_a_rank)
    : ranks_(ranks), part_bytes_(page_multiple(bytes_of_a_rank)) {
    check_node_ranks(ranks);
    const auto slots = static_cast<std::size_t>(size());
    const auto begin = page_multiple(sizeof(RankSlot) * (slots + 1));
    segment_ =
        SharedSegment::find_or_make(std::string(name_prefix) + ranks.name, begin + slots * part_bytes_);
    provide_memory(0, begin);
    try {
        provide_memory(begin + static_cast<std::size_t>(rank()) * part_bytes_, part_bytes_);
        take_slot();
        wait_for_all();
        check_versions();
    } catch (const Error&) {
        head().gave_up = 1;
        throw;
    }
}

NodeRendezvous::~NodeRendezvous() {
    // A forked child, which has a copy of this object, is not the rank.
    auto& own = slot(rank());
    if (own.process.pid == ::getpid()) own.has_left.store(1, std::memory_order_release);
}

NodeRendezvous::Head& NodeRendezvous::head() const {
    static_assert(sizeof(Head) <= sizeof(RankSlot));
    return *std::launder(reinterpret_cast<Head*>(segment_->bytes().data()));
}

NodeRendezvous::RankSlot& NodeRendezvous::slot(int rank) const {
    const auto offset = sizeof(RankSlot) * (static_cast<std::size_t>(rank) + 1);
    return *std::launder(reinterpret_cast<RankSlot*>(segment_->bytes().data() + offset));
}

std::byte* NodeRendezvous::part(int rank) const {
    const auto begin = page_multiple(sizeof(RankSlot) * (static_cast<std::size_t>(size()) + 1));
    return segment_->bytes().data() + begin + static_cast<std::size_t>(rank) * part_bytes_;
}

std::vector<std::byte*> NodeRendezvous::parts() const {
    std::vector<std::byte*> all;
    for (int rank = 0; rank < size(); ++rank) all.push_back(part(rank));
    return all;
}

void NodeRendezvous::provide_memory(std::size_t first, std::size_t bytes) const {
    if (!segment_->provide(first, bytes))
        throw Error(
            fmt::format("node_communicator: {} bytes of shared memory are wanted and /dev/shm does not "
                        "give them: make it larger (mount -o remount,size=...; docker run --shm-size)",
                        bytes));
}

void NodeRendezvous::take_slot() {
    std::uint32_t of_first = 0;
    const auto own = static_cast<std::uint32_t>(size());
    if (!head().size.compare_exchange_strong(of_first, own) && of_first != own)
        throw UsageError(fmt::format("node_communicator \"{}\": this rank, {}, says {} ranks, others say {}",
                                     ranks_.name, rank(), own, of_first));
    auto& own_slot = slot(rank());
    if (own_slot.is_taken.exchange(1) != 0)
        throw UsageError(
            fmt::format("node_communicator \"{}\": rank {} has come already, as process {}; a name "
                        "is for one communicator",
                        ranks_.name, rank(), own_slot.process.pid));
    const std::string_view text = version;
    text.copy(own_slot.version.data(), own_slot.version.size() - 1);
    own_slot.process = own_rank_process();
    own_slot.has_come.store(1, std::memory_order_release);
    if (head().come.fetch_add(1) + 1 < own) return;
    segment_->hide();
    head().is_hidden.store(1, std::memory_order_release);
}

void NodeRendezvous::wait_for_all() {
    wait_for([this](int other) { return slot(other).has_come.load(std::memory_order_acquire) != 0; },
             "has not come");
    // The last one removes the name.
    wait_for([this](int) { return head().is_hidden.load(std::memory_order_acquire) != 0; },
             "has not removed the name");
    segment_->note_hidden();
}

void NodeRendezvous::check_versions() const {
    std::vector<HostVersion> ranks;
    std::vector<std::string> versions;
    for (int rank = 0; rank < size(); ++rank) {
        versions.emplace_back(slot(rank).version.data());
        ranks.push_back({host_name(), versions.back()});
    }
    if (const auto difference = version_difference(ranks)) throw VersionMismatch(*difference, versions);
}

template <class IsDone>
void NodeRendezvous::wait_for(const IsDone& is_done, std::string_view what) const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto next_check = begin + processes_checked_every;
    Backoff backoff(true);
    for (int other = 0; other < size(); ++other)
        while (!is_done(other)) {
            if (backoff.pass_moment()) continue;
            std::this_thread::sleep_for(looks_for_ranks_every);
            const auto now = Clock::now();
            const bool is_late = now - begin > ranks_.timeout;
            const bool is_over = is_late || head().gave_up != 0;
            if (!is_over && now < next_check) continue;
            next_check = now + processes_checked_every;
            const auto missing = this->missing(is_done, what);
            if (missing.ranks.empty() || (!is_over && !missing.have_ended)) continue;
            throw Error(fmt::format(
                "node_communicator \"{}\", rank {} of {}: {}: {}", ranks_.name, rank(), size(),
                is_late ? fmt::format("waited {} s", ranks_.timeout.count()) : "it cannot be made",
                missing_text(missing.ranks)));
        }
}

template <class IsDone>
NodeRendezvous::Missing NodeRendezvous::missing(const IsDone& is_done, std::string_view what) const {
    Missing missing;
    for (int rank = 0; rank < size(); ++rank) {
        const auto gone = why_gone(rank);  // before the look at what it has done
        // A rank that has ended does not wait for those that have not come yet.
        if (is_done(rank) && (!gone || head().is_hidden != 0)) continue;
        missing.have_ended = missing.have_ended || gone;
        missing.ranks.push_back({rank, gone.value_or(std::string(what))});
    }
    return missing;
}

void NodeRendezvous::exchange(std::span<const std::byte> mine, std::span<std::byte> all) const {
    for (std::size_t first = 0; first < mine.size(); first += word_bytes) {
        const auto length = std::min(word_bytes, mine.size() - first);
        auto& own = slot(rank());
        const auto reach = [&](std::string_view what) {
            own.exchanged.store(++exchanged_, std::memory_order_release);
            wait_for(
                [&](int other) {
                    return slot(other).exchanged.load(std::memory_order_acquire) >= exchanged_;
                },
                what);
        };
        std::memcpy(own.word.data(), mine.data() + first, length);
        reach("has not said what it has");
        for (std::size_t other = 0; other < static_cast<std::size_t>(size()); ++other)
            std::memcpy(all.data() + other * mine.size() + first, slot(static_cast<int>(other)).word.data(),
                        length);
        reach("has not heard what the others have");
    }
}

void NodeRendezvous::note_given_up() const {
    slot(rank()).has_given_up.store(1, std::memory_order_release);
}

bool NodeRendezvous::has_left(int rank) const {
    return slot(rank).has_left.load(std::memory_order_acquire) != 0;
}

std::optional<std::string> NodeRendezvous::why_gone(int rank) const {
    const auto& other = slot(rank);
    if (other.has_come.load(std::memory_order_acquire) == 0 || rank == this->rank()) return std::nullopt;
    std::optional<std::string> why;
    if (has_ended(other.process))
        why = ended_text(other.process);
    else if (other.has_left.load(std::memory_order_acquire) != 0)
        why = "has ended its communicator";
    // Read last: a rank says it before it goes.
    return other.has_given_up.load(std::memory_order_acquire) == 0 ? why : std::nullopt;
}

}  // namespace dtrain::comm
