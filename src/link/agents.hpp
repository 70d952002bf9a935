// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "link/frames.hpp"
#include "link/messages.hpp"
#include "link/reactor.hpp"

namespace dtrain::link {

/// The head's side of the programs that mpirun starts in place of ssh, one for each other node. They come
/// over a socket in a folder that only the user can enter.
class Agents {
  public:
    struct Actions {
        std::function<void(int agent, const RunOn&)> asked;
        std::function<void(int agent)> gone;  ///< mpirun has ended it
        std::function<bool()> make_room;      ///< frees a descriptor for an agent; false: there is none
    };

    /// @param path of the socket; short enough for one
    Agents(Reactor& reactor, const std::string& path, Actions actions);
    ~Agents();
    Agents(const Agents&) = delete;
    Agents& operator=(const Agents&) = delete;

    /// What the agent does not take at once waits for it. Nothing happens when the agent is gone.
    void send(int agent, const Message& message);

  private:
    struct Agent {
        FileDescriptor socket;
        FrameReader frames;
        std::string output;
        bool left_out = false;  ///< some of its daemon's output
    };

    void accept_one();
    void serve(int agent, std::uint32_t events);
    void read_from(int agent);
    void write_to(int agent);
    void end(int agent);

    Reactor& reactor_;
    Actions actions_;
    FileDescriptor listener_;
    std::map<int, Agent> agents_;  ///< by descriptor
};

}  // namespace dtrain::link
