// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/task.hpp"

#include <memory_resource>

namespace dtrain::comm {
namespace {

std::pmr::unsynchronized_pool_resource& frames() {
    // Never destroyed: operations that are left under way keep their frames.
    static auto* pool = new std::pmr::unsynchronized_pool_resource;
    return *pool;
}

}  // namespace

void* Task::promise_type::operator new(std::size_t bytes) {
    return frames().allocate(bytes);
}

void Task::promise_type::operator delete(void* frame, std::size_t bytes) {
    frames().deallocate(frame, bytes);
}

}  // namespace dtrain::comm
