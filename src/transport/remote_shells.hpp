// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "transport/frames.hpp"
#include "transport/messages.hpp"
#include "transport/reactor.hpp"

namespace dtrain::transport {

/// The coordinator's side of the remote shells that mpirun starts in place of ssh, one for each other node.
/// They connect to a socket in a folder that only the user can enter. Each says once what it wants, and
/// nothing else. No number of connections that want nothing uses up the descriptors or the memory of this
/// process: the oldest of them are closed.
class RemoteShells {
  public:
    struct Actions {
        std::function<void(int shell, const RunOn&)> asked;
        std::function<void(int shell)> gone;  ///< mpirun has ended it
        std::function<bool()> make_room;      ///< frees a descriptor for a remote shell; false if it cannot
    };

    /// @param path of the socket; must not exceed the length limit of unix sockets
    RemoteShells(Reactor& reactor, const std::string& path, Actions actions);
    ~RemoteShells();
    RemoteShells(const RemoteShells&) = delete;
    RemoteShells& operator=(const RemoteShells&) = delete;

    /// Queues what the remote shell does not accept at once. Does nothing if the remote shell is gone, or has
    /// been told where its daemon ended or to use ssh.
    void send(int shell, const Message& message);

    /// Accepts again if it stopped because there was no descriptor for another connection.
    void resume() { listen(true); }

  private:
    struct RemoteShell {
        FileDescriptor socket;
        FrameReader frames;
        std::string output;
        bool left_out = false;  ///< some of its daemon's output was dropped
        bool asked = false;
        bool answered = false;  ///< nothing more will be sent
    };

    void accept_one();
    bool make_room();
    void listen(bool wanted);
    void serve(int shell, std::uint32_t events);
    void read_from(int shell);
    void take(int shell, const Message& message);
    void limit_unfinished();
    void write_to(int shell);
    void end(int shell);

    Reactor& reactor_;
    Actions actions_;
    FileDescriptor listener_;
    bool listening_ = true;
    std::map<int, RemoteShell> remote_shells_;  ///< by descriptor
    std::deque<int> idle_;  ///< those that have asked for nothing or are answered, oldest first
    std::size_t max_idle_;
};

}  // namespace dtrain::transport
