// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/limit_report.hpp"

#include <utility>

namespace dtrain::ps {

void LimitReport::check() {
    const bool is_unreported = limits_->is_unreported();
    if (is_checking_ || (!limits_->has_refusal() && !is_unreported)) return;
    is_checking_ = true;
    try {
        take_turn(ReportLock::takes);
        throw_if_passed();
        take_turn(ReportLock::gives_back);
    } catch (...) {
        is_checking_ = false;
        throw;
    }
    is_checking_ = false;
}

void LimitReport::take_turn(ReportLock turn) {
    const auto request = channel_->open(0, MessageKind::sizes);
    MessageWriter writer(
        channel_->transport(),
        {.kind = MessageKind::sizes, .steps = static_cast<std::uint32_t>(turn), .request = request});
    channel_->send(0, writer);
    channel_->wait_for(request);
    channel_->forget(request);
}

std::uint64_t LimitReport::ask_sizes() {
    std::uint64_t evicted = 0;
    const auto add = [&](int /*server*/, MessageReader reader) {
        while (const auto section = reader.next()) evicted += section->count;
    };
    channel_->ask_all({.kind = MessageKind::sizes}, {}, add);
    return evicted;
}

void LimitReport::throw_if_passed() {
    limits_->throw_refusal();
    if (limits_->is_reported()) return;
    // The sizes known of different servers may be from different times, and rows may have been evicted in
    // between. If no row was evicted between two rounds, all rows counted in the first round existed at its
    // end.
    auto evicted = ask_sizes();
    while (limits_->is_passed()) {
        const auto before = std::exchange(evicted, ask_sizes());
        if (evicted == before) limits_->report();
    }
}

void LimitReport::renew_sizes() {
    // A single server rejects excess rows itself.
    if (limits_->are_any() && channel_->servers() > 1 && !limits_->is_reported()) ask_sizes();
}

}  // namespace dtrain::ps
