// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "capi/buffers.hpp"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <dtrain/c_api.h>

#include "capi/guarded.hpp"
#include "capi/session.hpp"

namespace dtrain::capi {
namespace {

/// A lock of its own: garbage collectors free memory while another thread waits in an operation.
struct Buffers {
    std::mutex mutex;
    std::map<dtrain_buffer, SharedBuffer> all;
    dtrain_buffer allocated = 0;

    SharedBuffer& find(dtrain_buffer buffer) {
        const auto found = all.find(buffer);
        if (found == all.end())
            throw UsageError(fmt::format("buffer {}: there is none such, or it was freed", buffer));
        return found->second;
    }
};

Buffers& buffers() {
    static auto* living = new Buffers;  // lives when end_with_process() ends the session
    return *living;
}

}  // namespace

void free_all_buffers() {
    auto& [mutex, all, allocated] = buffers();
    const std::lock_guard lock(mutex);
    all.clear();
}

}  // namespace dtrain::capi

using dtrain::capi::buffers;

int dtrain_allocate(dtrain_comm comm, size_t bytes, dtrain_buffer* buffer, void** data) {
    return dtrain::capi::guarded([&] {
        auto memory = dtrain::capi::session().allocate(comm, bytes);
        auto& [mutex, all, allocated] = buffers();
        const std::lock_guard lock(mutex);
        *data = memory.bytes().data();
        *buffer = ++allocated;
        all.emplace(allocated, std::move(memory));
    });
}

int dtrain_buffer_of_rank(dtrain_buffer buffer, int rank, void** data, size_t* bytes) {
    return dtrain::capi::without_exceptions([&] {
        const std::lock_guard lock(buffers().mutex);
        const auto& memory = buffers().find(buffer);
        const auto part = memory.reaches(rank) ? memory.of_rank(rank) : std::span<std::byte>();
        *data = part.data();
        *bytes = part.size();
    });
}

int dtrain_buffer_free(dtrain_buffer buffer) {
    return dtrain::capi::without_exceptions([&] {
        const std::lock_guard lock(buffers().mutex);
        buffers().find(buffer);
        buffers().all.erase(buffer);
    });
}
