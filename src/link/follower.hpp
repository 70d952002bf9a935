// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <dtrain/environment.hpp>

#include "link/key.hpp"
#include "link/messages.hpp"

namespace dtrain::link {

struct FollowerOptions {
    std::string head;  ///< node 0's address
    int port = 0;
    Key key;
    Hello hello;
    Environment environment;                ///< for the MPI daemon
    std::chrono::milliseconds patience{0};  ///< for the head to be there
    std::function<void(const Welcome&)> welcomed;
    std::function<void(const LastWords&)> write_last_words;
    /// Asked often; true ends what runs here of the job, and the following.
    std::function<bool()> must_leave;
    /// What a stop signal does; not set: it stops the whole job.
    std::function<void(int signal)> on_stop;
};

struct Followed {
    int status = 0;
    std::string text;   ///< what went wrong
    bool left = false;  ///< because of FollowerOptions::must_leave
};

/// The launcher of a node other than the first: connects to the head as soon as that is there, runs the MPI
/// daemon for it, nothing else, and returns when the job is over. Nothing of the job runs on this node then,
/// whatever happened to the head, the link or the daemon.
/// @throws UsageError when the head has another key, refuses this node or is not there in time
Followed follow(const FollowerOptions& options);

}  // namespace dtrain::link
