// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/files.hpp"

namespace dtrain::scrape {

/// Serves metrics over HTTP as long as the object lives, in one thread that receives no signals. Without
/// authentication. Child processes inherit none of its sockets, and no client can make it wait, or use more
/// than a bounded amount of its memory.
class Endpoint {
  public:
    /// @param listener see listen_at()
    /// @param text called by the server thread
    Endpoint(FileDescriptor listener, std::function<std::string()> text);
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    /// Stops at once, whatever clients do.
    ~Endpoint();

  private:
    FileDescriptor stop_;
    std::jthread thread_;
};

}  // namespace dtrain::scrape
