// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: detecting that a table has more rows than its limit for all servers together.
#include <utility>

#include "ps/client/client.hpp"

namespace dtrain::ps {

void Client::note_sizes(int server, MessageReader reader) {
    if (!room_.is_limited()) return;
    switch (reader.header().kind) {
        case MessageKind::accept:
        case MessageKind::values:
        case MessageKind::applied:
        case MessageKind::sized:
            break;
        default:
            return;
    }
    while (const auto section = reader.next())
        if (section->table != dense_parameters)
            room_.note(static_cast<std::size_t>(server), section->table, section->first);
}

std::uint64_t Client::ask_sizes() {
    std::uint64_t evicted = 0;
    const auto add = [&](int /*server*/, MessageReader reader) {
        while (const auto section = reader.next()) evicted += section->count;
    };
    ask_all({.kind = MessageKind::sizes}, {}, add);
    return evicted;
}

void Client::take_turn(SizesTurn turn) {
    const auto request = expect(0, MessageKind::sizes);
    MessageWriter writer(
        *transport_,
        {.kind = MessageKind::sizes, .steps = static_cast<std::uint32_t>(turn), .request = request});
    writer.send(options_.servers[0]);
    wait_for(request, "sizes");
    forget(request);
}

void Client::check_room() {
    if (!room_.is_passed()) space_is_reported_ = false;
    const bool is_news = room_.is_passed() && !space_is_reported_;
    if (is_checking_room_ || (!refused_for_room_ && !is_news)) return;
    is_checking_room_ = true;
    try {
        take_turn(SizesTurn::takes);
        throw_when_passed();
        take_turn(SizesTurn::gives_back);
    } catch (...) {
        is_checking_room_ = false;
        throw;
    }
    is_checking_room_ = false;
}

void Client::throw_when_passed() {
    if (refused_for_room_) throw ServerError(*std::exchange(refused_for_room_, std::nullopt));
    if (space_is_reported_) return;
    // The sizes known of different servers may be from different times, and rows may have been evicted in
    // between. If no row was evicted between two rounds, all rows counted in the first round existed at its
    // end.
    auto evicted = ask_sizes();
    while (room_.is_passed()) {
        const auto before = std::exchange(evicted, ask_sizes());
        if (evicted != before) continue;
        space_is_reported_ = true;
        room_.check();
    }
}

void Client::renew_sizes() {
    // A single server rejects excess rows itself.
    if (room_.is_limited() && servers() > 1 && !space_is_reported_) ask_sizes();
}

}  // namespace dtrain::ps
