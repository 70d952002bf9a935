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
#include "launch/job_view.hpp"
#include "link/reactor.hpp"

namespace dtrain::launch {

/// Where a launcher answers questions about its job: a unix socket in a folder that only its user can enter.
/// A question is one line; the answers are lines, too:
///
/// - `summary`, `status`: the job, the second with its ranks (job_view.hpp)
/// - `stacks`: a line for each rank that tells where it is, as it comes: {"rank", "host", "file", "text"},
///   and {"end": true} when all have
/// - `end`: {"status": N} when the job is over
///
/// No client can make the launcher wait, or keep more than a bounded part of its memory.
class ControlSocket {
  public:
    /// @throws std::system_error where there can be no such socket
    ControlSocket();

    const std::string& path() const { return path_; }

    /// What there is to say about the job, beside what its events tell.
    void describe(std::vector<PlannedRank> planned, int restarts);

    /// Readable when serve() has something to do.
    int fd() const { return reactor_.fd(); }
    void serve(const JobState& job, bool stopping);

    /// True once when somebody waits for stacks and the ranks can be asked.
    bool take_stacks_command(const JobState& job);
    /// Notes what a rank tells of its stacks, and that it has ended.
    void take(const cluster::Event& event, const JobState& job);

    /// Tells those who wait for the end.
    void finish(int status);

  private:
    struct Client {
        FileDescriptor socket;
        std::string question;
        bool asked = false;  ///< the question is complete
        std::string answer;
        std::size_t sent = 0;    ///< of the answer
        bool last_word = false;  ///< nothing will follow `answer`
        bool waits_for_end = false;
        std::optional<std::set<int>> lacking;  ///< ranks whose stacks it waits for; none: it does not
    };
    using Clients = std::list<Client>;

    void accept();
    void read_question(Clients::iterator client);
    void answer(Client& client, const JobState& job, bool stopping);
    void note_stacks(const cluster::Event& event);
    void no_longer_lacking(int rank);
    void say(Client& client, const std::string& line, bool last_word);
    void write(Clients::iterator client);
    void drop(Clients::iterator client);
    void drop_the_silent();

    TemporaryFolder folder_;
    std::string path_;
    FileDescriptor listener_;
    link::Reactor reactor_;
    Clients clients_;
    std::vector<PlannedRank> planned_;
    int restarts_ = 0;
    std::map<int, std::string> stacks_;  ///< of ranks that are still telling them
    bool stacks_wanted_ = false;
};

}  // namespace dtrain::launch
