// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.hpp"
#include "link/connection.hpp"
#include "link/reactor.hpp"
#include "link/remote_shells.hpp"

namespace dtrain::link {

/// What mpirun's daemons get beside their command.
struct JobInfo {
    std::string job_token;
    std::chrono::milliseconds grace{0};
};

/// The node that an agent is, or why it is none.
using Admission = std::variant<int, Refused>;

/// The launcher that runs mpirun, as its agents see it: they connect in any order, prove the key, say what
/// they have, start the MPI daemon when mpirun asks for it, and stay connected until the job is over.
/// Strangers cost a descriptor for a few seconds; many at once push each other out, those first that have
/// shown no sign of the key, and leave most descriptors of the process to others.
class Coordinator {
  public:
    struct Options {
        FileDescriptor listener;
        Key key;
        std::string name;  ///< this node's, for messages
        std::function<Admission(const JoinRequest&)> admit;
        std::function<void(int node)> arrived;
        Reactor::Now now = Reactor::Clock::now;
    };

    explicit Coordinator(Options options);
    ~Coordinator();

    Reactor& reactor() { return reactor_; }

    /// An agent that cannot take part: what is wrong with its command line. Reported once.
    std::optional<std::string> take_refusal() { return std::exchange(refusal_, std::nullopt); }

    bool here(int node) const { return agents_.contains(node); }
    const JoinRequest& join_request_of(int node) const { return requests_.at(node); }
    /// The address that an agent's connection comes from.
    const std::string& peer_of(int node) const { return peers_.at(agents_.at(node)).connection.peer(); }
    /// New numbers for the nodes: node n becomes node numbers[n].
    void renumber(const std::vector<int>& numbers);
    void send(int node, const Message& message);
    void send_to_all(const Message& message);

    /// Serves mpirun's remote shells at this path, for one mpirun after the other.
    void serve_agents(const std::string& path);
    /// The next mpirun's daemons are of this job.
    /// @param names of the nodes as mpirun knows them
    /// @param hosts where the nodes are found
    void begin_run(const JobInfo& info, std::vector<std::string> names, std::vector<std::string> hosts);

    /// Nodes whose agents are gone, and why.
    const std::map<int, std::string>& lost() const { return lost_; }
    /// The signal that an agent got first; 0: none.
    int asked_to_stop_by() const { return asked_to_stop_by_; }

    /// Tells all agents and waits for a moment until they have it.
    void end(const JobEnded& ending);

  private:
    struct Peer {
        Connection connection;
        std::optional<int> node;  ///< once it is an agent
        bool leaving = false;     ///< closed as soon as everything is sent
    };

    void accept_some();
    void listen(bool wanted);
    bool make_room();
    void serve_peer(int fd, std::uint32_t events);
    void take_messages(int fd);
    void take(int fd, const Message& message);
    void accepted(int fd, const JoinRequest& request);
    void flush(int fd);
    void drop(int fd, std::string reason);
    void refuse_key(const std::string& peer);
    void check_clock();
    void run_on(int shell, const RunOn& wish);
    void remote_shell_gone(int shell);

    Options options_;
    Reactor reactor_;
    std::map<int, Peer> peers_;        ///< by descriptor
    std::deque<int> unauthenticated_;  ///< descriptors of those that are no agents, oldest first
    std::size_t max_unauthenticated_;
    bool listening_ = true;
    std::map<int, int> agents_;  ///< node -> descriptor
    std::map<int, JoinRequest> requests_;
    std::map<int, int> remote_shell_of_;  ///< node -> remote shell
    std::unique_ptr<RemoteShells> remote_shells_;
    JobInfo info_;
    std::vector<std::string> names_;
    std::vector<std::string> hosts_;
    int run_ = 0;
    std::map<int, std::string> lost_;
    std::optional<std::string> refusal_;
    int asked_to_stop_by_ = 0;
    std::set<std::string> other_keys_;  ///< addresses that were warned about
};

}  // namespace dtrain::link
