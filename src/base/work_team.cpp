// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/work_team.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/quiet_thread.hpp"

namespace dtrain {
namespace {

// Work comes in bursts, and waking a thread takes about as long as a burst. If other threads have work, too,
// a thread that yields waits for milliseconds, while one that is woken runs soon.
constexpr auto awake_for = std::chrono::microseconds(50);

/// Whether the condition becomes true within `awake_for`.
template <class Condition>
bool is_so_soon(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + awake_for;
    while (!condition())
        if (std::chrono::steady_clock::now() >= until) return false;
    return true;
}

}  // namespace

WorkTeam::WorkTeam(int threads) {
    if (threads < 1) throw UsageError(fmt::format("a team of {} threads, expected 1 or more", threads));
    try {
        for (int i = 1; i < threads; ++i) helpers_.push_back(quiet_thread<std::jthread>([this] { help(); }));
    } catch (...) {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        has_work_.notify_all();
        throw;
    }
}

WorkTeam::~WorkTeam() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    has_work_.notify_all();
}

void WorkTeam::run(std::size_t pieces, Work work) {
    next_.store(0, std::memory_order_relaxed);
    const auto helpers = std::min(helpers_.size(), pieces - std::min<std::size_t>(pieces, 1));
    if (helpers > 0) {
        {
            const std::lock_guard lock(mutex_);
            work_ = work;
            pieces_ = pieces;
            ++round_;
        }
        for (std::size_t i = 0; i < helpers; ++i) has_work_.notify_one();
    }
    take_pieces(pieces, work);
    if (helpers > 0) wait_for_helpers();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkTeam::take_pieces(std::size_t pieces, Work work) {
    while (true) {
        const auto piece = next_.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces) return;
        try {
            work.call(work.content, piece);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (failure_ && failed_ < piece) continue;
            failure_ = std::current_exception();
            failed_ = piece;
        }
    }
}

void WorkTeam::wait_for_helpers() {
    {
        const std::lock_guard lock(mutex_);
        pieces_ = 0;  // helpers that arrive now find no work
    }
    if (is_so_soon([&] { return helping_ == 0; })) return;
    std::unique_lock lock(mutex_);
    has_ended_.wait(lock, [&] { return helping_ == 0; });
}

void WorkTeam::help() {
    std::uint64_t seen = 0;
    while (true) {
        is_so_soon([&] { return round_ != seen; });
        std::size_t pieces = 0;
        Work work;
        {
            std::unique_lock lock(mutex_);
            has_work_.wait(lock, [&] { return ends_ || round_ != seen; });
            if (ends_) return;
            seen = round_;
            pieces = pieces_;
            work = work_;
            if (pieces > 0) ++helping_;
        }
        if (pieces == 0) continue;
        take_pieces(pieces, work);
        const std::lock_guard lock(mutex_);
        if (--helping_ == 0) has_ended_.notify_one();
    }
}

}  // namespace dtrain
