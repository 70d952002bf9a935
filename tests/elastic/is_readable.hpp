// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

namespace dtrain::elastic {

/// Whether `fd` can be read within `wait_ms` milliseconds; -1: it waits for as long as it takes.
inline bool is_readable(int fd, int wait_ms) {
    pollfd source{fd, POLLIN, 0};
    return ::poll(&source, 1, wait_ms) == 1;
}

}  // namespace dtrain::elastic
