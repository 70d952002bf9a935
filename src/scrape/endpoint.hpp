// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/files.hpp"

namespace dtrain::scrape {

/// Serves metrics over HTTP, by one thread that takes no signals and as long as the object lives. Nobody is
/// authenticated. Programs that are started meanwhile inherit none of its sockets, and no client can make it
/// wait, or keep more than a bounded part of its memory.
class Endpoint {
  public:
    /// @param listener see listen_at()
    /// @param text called by the thread
    Endpoint(FileDescriptor listener, std::function<std::string()> text);
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    /// At once, whatever clients do.
    ~Endpoint();

  private:
    FileDescriptor stop_;
    std::jthread thread_;
};

}  // namespace dtrain::scrape
