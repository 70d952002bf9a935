// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ps/client/server_channel.hpp"

namespace dtrain::ps {

/// A save by all servers. One at a time.
class ServerSaves {
  public:
    /// @param channel must outlive this
    explicit ServerSaves(ServerChannel& channel) : channel_(&channel) {}

    bool are_any() const { return !saves_.empty(); }

    /// Waits until the servers have fixed what they save. @param step that must be in it
    /// @throws ServerError if a server refuses; then no save is in progress
    void begin(std::int64_t step, const std::string& request);

    /// Whether finish() returns without waiting.
    bool are_done() const { return channel_->have_come(saves_); }

    /// Waits until all servers have saved. @returns the answer of each
    /// @throws ServerError if a server failed; then no save is in progress
    std::vector<std::string> finish();

  private:
    ServerChannel* channel_;
    std::vector<std::uint64_t> saves_;  ///< by server; empty: no save is in progress
};

}  // namespace dtrain::ps
