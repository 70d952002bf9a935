// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/message/message_bytes.hpp"

#include <algorithm>

namespace dtrain::comm {

void MessageBytes::resize(std::size_t size) {
    if (size > capacity_) {
        const auto capacity = std::max(size, capacity_ + capacity_ / 2);
        std::unique_ptr<std::byte[], ReturnMessage> larger(new std::byte[capacity]);
        std::copy_n(memory_.get(), size_, larger.get());
        memory_ = std::move(larger);
        capacity_ = capacity;
    }
    size_ = size;
}

}  // namespace dtrain::comm
