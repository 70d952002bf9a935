// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain {

/// A port that was asked for by number cannot be had.
class PortTaken : public UsageError {
  public:
    PortTaken(int port, const std::string& why, const std::string& holder,
              const std::string& what_to_do = "choose another with --start_port");
    int port() const { return port_; }
    /// The same with other advice.
    PortTaken with_advice(const std::string& what_to_do) const { return {port_, why_, holder_, what_to_do}; }

  private:
    int port_;
    std::string why_;
    std::string holder_;
};

/// TCP ports of this machine that nobody uses, held until the object goes: nobody else gets them meanwhile.
class HeldPorts {
  public:
    /// Any `count` free ports, chosen by the kernel.
    /// @throws Error when the machine has not that many.
    static HeldPorts any(int count);

    /// Exactly these ports.
    /// @throws PortTaken for the first one that is taken, naming its holder where the kernel tells.
    static HeldPorts exactly(const std::vector<int>& ports);

    const std::vector<int>& numbers() const { return numbers_; }

  private:
    std::vector<FileDescriptor> sockets_;
    std::vector<int> numbers_;
};

/// Of a socket that listens, at an address of IPv4 or IPv6.
int port_of(const FileDescriptor& listener);

/// "pid 123 (python3)" for the process that listens on this port, or "" when it cannot be seen.
std::string holder_of_port(int port);

}  // namespace dtrain
