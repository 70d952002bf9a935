// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/mailbox.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::comm {
namespace {

// A rank's rings together, and each.
constexpr std::size_t rings_bytes = std::size_t{1} << 20U;
constexpr std::size_t min_ring = std::size_t{8} << 10U;
constexpr std::size_t max_ring = std::size_t{64} << 10U;
constexpr std::size_t max_whole = std::size_t{8} << 10U;
constexpr std::size_t bell_bytes = 64;

std::size_t ring_capacity(int ranks) {
    return std::bit_floor(std::clamp(rings_bytes / static_cast<std::size_t>(ranks), min_ring, max_ring));
}

/// Rung by whoever writes to a rank.
std::atomic<std::uint64_t>& bell_at(std::byte* memory) {
    return *std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(memory));
}

std::byte* ring_of(std::byte* part, std::size_t writer, std::size_t capacity) {
    return part + bell_bytes + writer * FrameRing::bytes_for(capacity);
}

}  // namespace

std::size_t Mailbox::bytes_of_a_rank(int ranks) {
    return bell_bytes + static_cast<std::size_t>(ranks) * FrameRing::bytes_for(ring_capacity(ranks));
}

Mailbox::Mailbox(int rank, std::span<std::byte* const> parts, const OtherMemory& other_memory)
    : rank_(rank), other_memory_(other_memory), bells_(parts.begin(), parts.end()), arrived_(parts.size()) {
    const auto capacity = ring_capacity(static_cast<int>(parts.size()));
    max_short_ = std::min(max_whole, capacity / 4);
    const auto own = static_cast<std::size_t>(rank);
    for (std::size_t other = 0; other < parts.size(); ++other)
        peers_.push_back({.out = {ring_of(parts[other], own, capacity), capacity},
                          .in = {ring_of(parts[own], other, capacity), capacity}});
}

Mailbox::Handle Mailbox::send(int to, int tag, std::span<const std::byte> message) {
    const auto handle = ++started_;
    operations_[handle] = {.source = message, .peer = to, .tag = tag};
    const FrameRing::Head head{.tag = tag,
                               .bytes = message.size(),
                               .id = handle,
                               .address = reinterpret_cast<std::uintptr_t>(message.data())};
    if (message.size() <= max_short_)
        post(to, Kind::whole, head, message, handle);
    else
        post(to, Kind::offer, head);
    return handle;
}

Mailbox::Handle Mailbox::receive(int from, int tag, std::span<std::byte> message) {
    const auto handle = ++started_;
    auto& operation = operations_[handle] = {.destination = message, .peer = from, .tag = tag};
    // The first message with the tag: of one rank, or of that whose message came first.
    std::deque<Arrived>* of_rank = nullptr;
    std::deque<Arrived>::iterator first;
    for (int rank = 0; rank < static_cast<int>(arrived_.size()); ++rank) {
        if (from != any_rank && from != rank) continue;
        auto& all = arrived_[static_cast<std::size_t>(rank)];
        const auto found = std::ranges::find(all, tag, [](const Arrived& one) { return one.head.tag; });
        if (found == all.end() || (of_rank != nullptr && found->order > first->order)) continue;
        of_rank = &all;
        first = found;
        operation.peer = rank;
    }
    if (of_rank == nullptr) {
        wanting_.push_back(handle);
        return handle;
    }
    const auto arrived = std::move(*first);
    of_rank->erase(first);
    if (arrived.head.kind == static_cast<std::uint32_t>(Kind::offer)) {
        take_offer(handle, operation.peer, arrived.head);
    } else if (!refuse_other_length(operation, operation.peer, arrived.content.size())) {
        std::ranges::copy(arrived.content, message.begin());
        operation.is_complete = true;
    }
    return handle;
}

bool Mailbox::is_complete(Handle operation) const {
    return operations_.at(operation).is_complete;
}

int Mailbox::peer_of(Handle operation) const {
    return operations_.at(operation).peer;
}

void Mailbox::finish(Handle operation) {
    const auto failure = operations_.extract(operation).mapped().failure;
    if (failure) std::rethrow_exception(failure);
}

std::optional<Mailbox::Arrival> Mailbox::first_arrival(int from) const {
    std::optional<Arrival> first;
    std::uint64_t order = 0;
    for (int rank = 0; rank < static_cast<int>(arrived_.size()); ++rank) {
        const auto& all = arrived_[static_cast<std::size_t>(rank)];
        if ((from != any_rank && from != rank) || all.empty() || (first && all.front().order > order))
            continue;
        order = all.front().order;
        first = Arrival{rank, all.front().head.tag, static_cast<std::size_t>(all.front().head.bytes)};
    }
    return first;
}

bool Mailbox::progress() {
    bool any = false;
    const int ranks = static_cast<int>(peers_.size());
    const auto heard = bell_at(bells_[static_cast<std::size_t>(rank_)]).load(std::memory_order_acquire);
    if (heard != std::exchange(heard_, heard))
        for (int from = 0; from < ranks; ++from) any = pull(from) || any;
    for (int to = 0; to < ranks && unsent_ > 0; ++to) any = push(to) || any;
    return any;
}

void Mailbox::post(int to, Kind kind, FrameRing::Head head, std::span<const std::byte> content,
                   Handle completes) {
    head.kind = static_cast<std::uint32_t>(kind);
    peer(to).outgoing.push_back({head, content, completes});
    ++unsent_;
    push(to);
}

/// Writes what there is room for.
bool Mailbox::push(int to) {
    auto& [out, in, outgoing, pieces] = peer(to);
    bool any = false;
    while (!outgoing.empty()) {
        const auto& [head, content, completes] = outgoing.front();
        const auto room = out.room();
        if (!room || *room < content.size()) break;
        out.write(head, content);
        if (completes != 0) operations_.at(completes).is_complete = true;
        outgoing.pop_front();
        --unsent_;
        any = true;
    }
    while (outgoing.empty() && !pieces.empty() && push_piece(to)) any = true;
    if (any) bell_at(bells_[static_cast<std::size_t>(to)]).fetch_add(1, std::memory_order_release);
    return any;
}

bool Mailbox::push_piece(int to) {
    auto& [out, in, outgoing, pieces] = peer(to);
    const auto [source, destination] = pieces.front();
    auto& operation = operations_.at(source);
    const auto left = operation.source.size() - operation.done;
    const auto length = std::min(left, max_short_);
    const auto room = out.room();
    if (!room || *room < length) return false;
    out.write({.kind = static_cast<std::uint32_t>(Kind::piece), .bytes = length, .id = destination},
              operation.source.subspan(operation.done, length));
    operation.done += length;
    if (length == left) {
        operation.is_complete = true;
        pieces.pop_front();
        --unsent_;
    }
    return true;
}

bool Mailbox::pull(int from) {
    bool any = false;
    for (auto head = peer(from).in.next(); head; head = peer(from).in.next()) {
        handle(from, *head);
        any = true;
    }
    return any;
}

void Mailbox::handle(int from, const FrameRing::Head& head) {
    auto& in = peer(from).in;
    switch (static_cast<Kind>(head.kind)) {
        case Kind::whole:
            return take_whole(from, head);
        case Kind::piece:
            return take_piece(from, head);
        case Kind::offer:
            in.take({});
            if (const auto receiver = wanted_by(from, head.tag)) {
                std::erase(wanting_, *receiver);
                return take_offer(*receiver, from, head);
            }
            arrived_[static_cast<std::size_t>(from)].push_back({++arrivals_, head, {}});
            return;
        case Kind::wants:
            in.take({});
            peer(from).pieces.push_back({head.id, head.address});
            ++unsent_;
            return;
        case Kind::taken:
            in.take({});
            operations_.at(head.id).is_complete = true;
            return;
    }
}

/// The first receive that waits for such a message.
std::optional<Mailbox::Handle> Mailbox::wanted_by(int from, int tag) const {
    const auto found = std::ranges::find_if(wanting_, [&](Handle receiver) {
        const auto& operation = operations_.at(receiver);
        return operation.tag == tag && (operation.peer == from || operation.peer == any_rank);
    });
    return found == wanting_.end() ? std::nullopt : std::optional(*found);
}

void Mailbox::take_whole(int from, const FrameRing::Head& head) {
    auto& in = peer(from).in;
    const auto receiver = wanted_by(from, head.tag);
    if (receiver) {
        std::erase(wanting_, *receiver);
        auto& operation = operations_.at(*receiver);
        operation.peer = from;
        if (operation.destination.size() == head.bytes) {
            in.take(operation.destination);
            operation.is_complete = true;
            return;
        }
    }
    std::vector<std::byte> content(head.bytes);
    in.take(content);
    if (receiver)
        refuse_other_length(operations_.at(*receiver), from, content.size());
    else
        arrived_[static_cast<std::size_t>(from)].push_back({++arrivals_, head, std::move(content)});
}

void Mailbox::take_piece(int from, const FrameRing::Head& head) {
    auto& operation = operations_.at(head.id);
    peer(from).in.take(operation.destination.subspan(operation.done, head.bytes));
    operation.done += head.bytes;
    operation.is_complete = operation.done == operation.destination.size();
}

void Mailbox::take_offer(Handle receiver, int from, const FrameRing::Head& offer) {
    auto& operation = operations_.at(receiver);
    operation.peer = from;
    if (!refuse_other_length(operation, from, offer.bytes)) {
        if (from == rank_) {
            std::memcpy(operation.destination.data(), reinterpret_cast<const std::byte*>(offer.address),
                        offer.bytes);
        } else if (other_memory_.is_open()) {
            try {
                other_memory_.read(from, offer.address, operation.destination);
            } catch (const MemoryGone&) {
                operation.failure = std::current_exception();
            }
        } else {
            return post(from, Kind::wants, {.id = offer.id, .address = receiver});
        }
        operation.is_complete = true;
    }
    post(from, Kind::taken, {.id = offer.id});
}

bool Mailbox::refuse_other_length(Operation& operation, int from, std::size_t bytes) const {
    if (operation.destination.size() == bytes) return false;
    operation.failure = std::make_exception_ptr(
        Error(fmt::format("receive of {} bytes from rank {} with tag {}: {} were sent",
                          operation.destination.size(), from, operation.tag, bytes)));
    operation.is_complete = true;
    return true;
}

}  // namespace dtrain::comm
