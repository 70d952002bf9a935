// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/process_mark.hpp"

#include <random>
#include <unistd.h>

namespace dtrain::comm {

const std::uint64_t& process_mark() {
    static pid_t owner = 0;
    static std::uint64_t mark = 0;
    if (owner != ::getpid()) {
        owner = ::getpid();
        std::random_device random;
        mark = std::uint64_t{random()} << 32U | random();
    }
    return mark;
}

}  // namespace dtrain::comm
