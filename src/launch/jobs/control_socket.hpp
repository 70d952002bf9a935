// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "launch/jobs/job_view.hpp"
#include "transport/reactor.hpp"

namespace dtrain::launch {

/// Where a launcher answers requests about its job: a unix socket in a folder that only its user can enter. A
/// request is one line; so is each part of the answer:
///
/// - `summary`, `status`: the job; `status` includes its ranks (job_view.hpp)
/// - `stacks`: a line for each rank that reports its stacks, as it arrives: {"rank", "host", "file", "text",
///   "state"}, and {"end": true} after the last
/// - `end`: {"status": N} when the job is over
///
/// No client can make the launcher wait, or use more than a bounded amount of its memory.
class ControlSocket {
  public:
    /// @throws std::system_error if the socket cannot be created
    ControlSocket();

    const std::string& path() const { return path_; }

    /// Sets what is reported about the job in addition to its events.
    void describe(std::vector<PlannedRank> planned, int restarts);

    /// Readable when serve() has something to do.
    int fd() const { return reactor_.fd(); }
    void serve(const JobState& job, bool stopping);

    /// True once when a client waits for stacks and the ranks can be asked.
    bool take_stacks_command(const JobState& job);
    /// Takes a rank's stacks or end from an event.
    void take(const cluster::Event& event, const JobState& job);

    /// Sends the exit status to the clients that wait for the end.
    void finish(int status);

  private:
    struct Client {
        FileDescriptor socket;
        std::string question;
        bool asked = false;  ///< the request is complete
        std::string answer;
        std::size_t sent = 0;    ///< bytes of `answer`
        bool last_word = false;  ///< nothing will follow `answer`
        bool waits_for_end = false;
        std::optional<std::set<int>> lacking;  ///< ranks whose stacks it waits for; none if it does not wait
    };
    using Clients = std::list<Client>;

    void accept();
    void refuse_one();
    void read_question(Clients::iterator client);
    void answer(Client& client, const JobState& job, bool stopping);
    void note_stacks(const cluster::Event& event, const JobState& job);
    void no_longer_lacking(int rank);
    void say(Client& client, const std::string& line, bool last_word);
    void write(Clients::iterator client);
    void drop(Clients::iterator client);
    void drop_the_silent();

    TemporaryFolder folder_;
    std::string path_;
    FileDescriptor listener_;
    FileDescriptor spare_;  ///< closed to accept, and refuse, a client for which there is no descriptor
    transport::Reactor reactor_;
    Clients clients_;
    std::vector<PlannedRank> planned_;
    int restarts_ = 0;
    std::map<int, std::string> stacks_;  ///< ranks whose stacks are still arriving, by rank
    bool stacks_wanted_ = false;
};

}  // namespace dtrain::launch
