// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "base/files.hpp"

/// TCP connections between the nodes of a job. All sockets are non-blocking.
namespace dtrain::transport {

/// Listens at `host`, or at all addresses of this machine if `host` is not one of them, as behind NAT. An
/// invalid descriptor, with errno set, if the port cannot be bound.
/// @throws UsageError if `host` is unknown
FileDescriptor listen_at(const std::string& host, int port);

/// Accepts the next pending connection; an invalid descriptor, with errno set, if there is none.
FileDescriptor accept_from(const FileDescriptor& listener);

/// Whether accept() failed with this error because the process or the machine has no descriptors or memory
/// left.
bool lacks_resources(int error);

/// How many connections a server keeps that are of no use yet: only a part of the descriptors that this
/// process may open, since agents, remote shells, logs and mpirun need some, too.
std::size_t max_idle_connections();

/// A connection, or the error: "Connection refused".
std::variant<FileDescriptor, std::string> connect_to(const std::string& host, int port,
                                                     std::chrono::milliseconds limit);

/// Makes the kernel close a connection a few seconds after the other machine stopped responding (cable cut,
/// power off). An idle connection sends a keepalive probe every second.
void notice_silence(const FileDescriptor& socket);

/// The other side's address, without the port.
std::string peer_of(const FileDescriptor& socket);

}  // namespace dtrain::transport
