// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/files.hpp"

namespace dtrain::link {

/// A non-blocking socket that listens at a path of this machine.
/// @throws std::system_error naming the path, also for one that is too long
FileDescriptor listen_at_path(const std::string& path);

/// A blocking connection to it.
FileDescriptor connect_to_path(const std::string& path);

}  // namespace dtrain::link
