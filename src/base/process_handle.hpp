// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/files.hpp"

namespace dtrain {

/// A descriptor of a process, readable once all its threads have ended; invalid if there is no such process,
/// and before Linux 5.3: errno has the reason.
FileDescriptor process_handle(pid_t process);

}  // namespace dtrain
