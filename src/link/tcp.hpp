// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "base/files.hpp"

/// TCP between the nodes of a job. All sockets are non-blocking.
namespace dtrain::link {

/// Listens at `host`, or at all addresses of this machine when `host` is none of them, as behind NAT. An
/// invalid descriptor, with errno, when the port cannot be had.
/// @throws UsageError when `host` is not known
FileDescriptor listen_at(const std::string& host, int port);

/// The next connection that waits, or an invalid descriptor, with errno.
FileDescriptor accept_from(const FileDescriptor& listener);

/// Whether nothing could be accepted, by this error, because the process or the machine has no descriptor or
/// memory left for it.
bool lacks_resources(int error);

/// A connection, or why there is none: "Connection refused".
std::variant<FileDescriptor, std::string> connect_to(const std::string& host, int port,
                                                     std::chrono::milliseconds limit);

/// Makes the kernel end a connection a few seconds after the other machine fell silent: cable cut, power off.
/// An idle connection is asked for a sign of life every second.
void notice_silence(const FileDescriptor& socket);

/// The other side's address, without port.
std::string peer_of(const FileDescriptor& socket);

}  // namespace dtrain::link
