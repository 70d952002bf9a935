// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/task.hpp"

#include <array>
#include <new>
#include <utility>

namespace dtrain::comm {
namespace {

// A frame has a few hundred bytes, and a reduction of some kilobytes takes less time than a general
// allocator's search.
constexpr std::size_t step = 64;
constexpr std::size_t max_kept = 4096;

struct Free {
    Free* next;
};

/// Unused frames of each length. They are never freed: abandoned operations keep their frames.
std::array<Free*, max_kept / step + 1> kept{};

std::size_t steps_of(std::size_t bytes) {
    return (bytes + step - 1) / step;
}

}  // namespace

void* Task::promise_type::operator new(std::size_t bytes) {
    const auto steps = steps_of(bytes);
    if (steps >= kept.size() || kept[steps] == nullptr) return ::operator new(steps* step);
    return std::exchange(kept[steps], kept[steps]->next);
}

void Task::promise_type::operator delete(void* frame, std::size_t bytes) {
    const auto steps = steps_of(bytes);
    if (steps >= kept.size()) return ::operator delete(frame);
    kept[steps] = new (frame) Free{kept[steps]};
}

}  // namespace dtrain::comm
