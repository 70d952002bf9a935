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

/// The coordinator's side of the programs that mpirun starts in place of ssh, one for each other node. They
/// come over a socket in a folder that only the user can enter.
class RemoteShells {
  public:
    struct Actions {
        std::function<void(int shell, const RunOn&)> asked;
        std::function<void(int shell)> gone;  ///< mpirun has ended it
        std::function<bool()> make_room;      ///< frees a descriptor for a remote shell; false: there is none
    };

    /// @param path of the socket; short enough for one
    RemoteShells(Reactor& reactor, const std::string& path, Actions actions);
    ~RemoteShells();
    RemoteShells(const RemoteShells&) = delete;
    RemoteShells& operator=(const RemoteShells&) = delete;

    /// What the remote shell does not take at once waits for it. Nothing happens when the remote shell is
    /// gone.
    void send(int shell, const Message& message);

  private:
    struct RemoteShell {
        FileDescriptor socket;
        FrameReader frames;
        std::string output;
        bool left_out = false;  ///< some of its daemon's output
    };

    void accept_one();
    void serve(int shell, std::uint32_t events);
    void read_from(int shell);
    void write_to(int shell);
    void end(int shell);

    Reactor& reactor_;
    Actions actions_;
    FileDescriptor listener_;
    std::map<int, RemoteShell> remote_shells_;  ///< by descriptor
};

}  // namespace dtrain::link
