// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain {

/// A requested port is not available.
class PortTaken : public UsageError {
  public:
    PortTaken(int port, const std::string& why, const std::string& holder,
              const std::string& what_to_do = "choose another with --start_port");
    int port() const { return port_; }
    /// A copy with other advice.
    PortTaken with_advice(const std::string& what_to_do) const { return {port_, why_, holder_, what_to_do}; }

  private:
    int port_;
    std::string why_;
    std::string holder_;
};

/// Ports for jobs: below those that the kernel gives to any connection (ip_local_port_range, 32768 by
/// default), so that none is taken between its choice and the start of the program.
inline constexpr int lowest_job_port = 10000;
inline constexpr int job_ports = 20000;

/// Free TCP ports of this machine, reserved as long as the object lives.
class HeldPorts {
  public:
    /// Any `count` free ports: of those for jobs, from a random one on, then of the kernel's choice.
    /// @throws Error if the machine does not have that many.
    static HeldPorts any(int count);

    /// Exactly these ports.
    /// @throws PortTaken for the first one that is taken, naming its holder if the kernel tells.
    static HeldPorts exactly(const std::vector<int>& ports);

    const std::vector<int>& numbers() const { return numbers_; }

  private:
    void add(int port, FileDescriptor socket);

    std::vector<FileDescriptor> sockets_;
    std::vector<int> numbers_;
};

/// The port of a listening IPv4 or IPv6 socket.
int port_of(const FileDescriptor& listener);

/// "pid 123 (python3)" for the process that listens on this port, or "" if it cannot be determined.
std::string holder_of_port(int port);

}  // namespace dtrain
