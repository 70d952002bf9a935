// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// play.py in C++: a training loop in which ranks of three hang as `kind` says (../kinds.py). `Ranks` is what
// they communicate with, a class of play_*.cpp.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "blocked.hpp"
#include "healthy.hpp"

namespace play {

constexpr int hang_at = 20;
constexpr int tag = 7;
constexpr std::size_t length = 1000;

/// What a rank does, by the name of the kind.
using Ways = std::map<std::string, std::function<void()>>;

inline std::string kind;
inline int rank = 0;

inline bool is_one_of(const std::vector<std::string>& kinds) {
    for (const auto& each : kinds)
        if (each == kind) return true;
    return false;
}

/// Call it before the ranks know each other.
inline void before_start() {
    const char* const of_job = std::getenv("RANK");
    if (kind == "comes_not" && of_job != nullptr && std::string(of_job) == "2") {
        blocked::begin();
        blocked::sleeps();
    }
    if (kind == "comes_not") blocked::begin();
}

/// Of a step before its barrier.
template <class Ranks>
void calls_of_step(Ranks& ranks, const std::string& own_kind) {
    ranks.broadcast(own_kind == "other_root" ? 1 : 0);
    if (own_kind == "reorders") {
        ranks.all_gather();
        ranks.sum();
        return;
    }
    if (own_kind == "other_count")
        ranks.sum_of_fewer();
    else if (own_kind == "other_type")
        ranks.sum_of_doubles();
    else if (own_kind == "other_operation")
        ranks.all_gather();
    else if (own_kind != "skips")
        ranks.sum();
    try {
        if (own_kind == "exception") throw std::runtime_error("a bad sample");
        ranks.all_gather();
    } catch (const std::runtime_error&) {
        if (own_kind != "exception") throw;
    }
}

/// What some ranks do instead of what the others do next.
template <class Ranks>
void communicate(Ranks& ranks) {
    Ways alone{
        {"receives", [&] { ranks.receive(0); }},
        {"sends", [&] { ranks.send(0); }},
        {"receives_from_any", [&] { ranks.receive_from_any(); }},
        {"waits_for_request", [&] { ranks.wait_for_request(); }},
        {"waits_in_thread", [&] { std::thread([&] { ranks.receive(0); }).join(); }},
        {"makes_group", [&] { ranks.make_group(); }},
    };
    alone.merge(ranks.alone());
    const Ways others = ranks.others();
    if (rank == 2 && alone.contains(kind)) {
        blocked::begin();
        alone.at(kind)();
    }
    if (rank != 2 && others.contains(kind)) others.at(kind)();
    if (kind == "circle" && rank < 2) {
        blocked::begin();
        ranks.receive(1 - rank);
    }
    if (kind == "ring_of_sends") {
        blocked::begin();
        ranks.send((rank + 1) % 3);
    }
    if (kind == "other_group" && rank == 1) {
        blocked::begin();
        ranks.barrier_of("pair");
    }
    if (kind == "order_of_groups" && rank > 0) {
        blocked::begin();
        ranks.barrier_of(rank == 1 ? "pair" : "twin");
        ranks.barrier_of(rank == 1 ? "twin" : "pair");
    }
}

inline bool is_culprit() {
    if (kind == "two_are_late") return rank > 0;
    if (is_one_of({"evaluate", "save_checkpoint", "write_to_frozen_disk"})) return rank == 0;
    return rank == 2;
}

template <class Ranks>
void play_phases(Ranks& ranks) {
    for (const auto& phase : healthy::phases()) {
        for (int step = 0; step < 40; ++step) calls_of_step(ranks, "");
        if (rank == phase.rank) phase.run();
        ranks.barrier();
    }
}

template <class Ranks>
void play_hang(Ranks& ranks) {
    const bool calls_others = is_one_of(
        {"skips", "reorders", "exception", "other_count", "other_type", "other_root", "other_operation"});
    for (int step = 1; step < 100000; ++step) {
        const bool now = step == hang_at && is_culprit();
        if (now && calls_others) blocked::begin();
        calls_of_step(ranks, now ? kind : "");
        if (now && is_one_of({"leaves", "loop_ends", "loop_ends_early"})) {
            blocked::begin();
            break;
        }
        if (now && is_one_of({"two_are_late", "ends_not"})) {
            blocked::begin();
            blocked::sleeps();
        }
        if (step == hang_at && kind == "ends_not") return;
        if (now && blocked::ways().contains(kind)) {
            blocked::begin();
            blocked::ways().at(kind)();
        }
        if (step == hang_at) communicate(ranks);
        if (step == hang_at && rank == 0 && kind == "link") blocked::begin();  // the harness cuts it
        ranks.barrier();
    }
    if (kind == "loop_ends_early") ranks.reduce();
    if (kind == "loop_ends") blocked::sleeps();
    if (kind == "leaves") ::_exit(0);
}

template <class Ranks>
void play(Ranks& ranks) {
    if (kind == "healthy")
        play_phases(ranks);
    else
        play_hang(ranks);
}

}  // namespace play
