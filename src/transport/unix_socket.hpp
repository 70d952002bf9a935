// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/files.hpp"

namespace dtrain::transport {

/// A non-blocking unix socket that listens at a path.
/// @throws std::system_error naming the path, also if it is too long
FileDescriptor listen_at_path(const std::string& path);

/// A blocking connection to such a socket.
/// @param limit for a program that neither accepts nor reads, also of each send(); 0: none
FileDescriptor connect_to_path(const std::string& path, std::chrono::milliseconds limit = {});

}  // namespace dtrain::transport
