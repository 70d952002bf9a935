// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_memory.hpp"

#include <utility>

namespace dtrain::comm {

std::shared_ptr<void> NcclMemory::keep(const NcclPort::Memory& memory,
                                       std::shared_ptr<CommunicatorBackend> backend) {
    if (memory.data == nullptr) return nullptr;
    return {memory.data, [this, memory, kept = std::move(backend)](void*) { released_.push_back(memory); }};
}

void NcclMemory::free_released() {
    for (const auto& memory : released_) port_.free(memory);
    released_.clear();
}

}  // namespace dtrain::comm
