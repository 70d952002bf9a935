// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/client/server_channel.hpp"
#include "ps/client/step_clock.hpp"

namespace dtrain::ps {

/// Requests the dense parameters of all servers, and holds the answers until they are dropped.
class DensePuller {
  public:
    /// @param sizes number of floats on each server
    /// @param clock must outlive this, as must `channel`
    DensePuller(std::vector<std::size_t> sizes, const StepClock& clock, ServerChannel& channel);

    /// Number of floats on a server.
    std::size_t size(int server) const { return servers_[static_cast<std::size_t>(server)].size; }

    /// Requests the parameters after the steps that have been sent.
    void ask_after_step();
    /// Takes what has arrived; waits only for parameters that lack too many of this trainer's own steps.
    void renew();
    /// Requests the current parameters, whatever was requested before.
    void ask_anew();

    /// Waits for the parameters of a server. Empty: nothing new.
    std::span<const float> values(int server);
    /// Whether values() returns without waiting.
    bool have_come() const;
    void drop();

  private:
    struct Server {
        std::size_t size = 0;
        std::uint64_t request = 0;     ///< 0: none
        std::int64_t steps_asked = 0;  ///< own steps in the requested values
        std::int64_t steps_known = 0;  ///< own steps in the values taken last
        bool is_new = false;           ///< values() may be taken
    };

    void ask();
    void forget(Server& server);
    void mark_all_new();

    const StepClock* clock_;
    ServerChannel* channel_;
    std::vector<Server> servers_;
};

}  // namespace dtrain::ps
