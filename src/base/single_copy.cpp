// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/single_copy.hpp"

#include <sys/uio.h>
#include <unistd.h>

namespace dtrain {

bool may_read_processes() {
    char from = 1;
    char to = 0;
    const iovec remote{&from, sizeof(from)};
    const iovec local{&to, sizeof(to)};
    return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == sizeof(to);
}

std::optional<std::string> single_copy_mechanism(const Environment& environment, bool may_read) {
    if (may_read || environment.has(single_copy_variable)) return std::nullopt;
    return "none";
}

}  // namespace dtrain
