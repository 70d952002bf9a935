// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/files.hpp"

namespace dtrain::link {

/// A non-blocking unix socket that listens at a path.
/// @throws std::system_error naming the path, also if it is too long
FileDescriptor listen_at_path(const std::string& path);

/// A blocking connection to such a socket.
FileDescriptor connect_to_path(const std::string& path);

}  // namespace dtrain::link
