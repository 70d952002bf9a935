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
#include "transport/connection.hpp"
#include "transport/reactor.hpp"
#include "transport/remote_shells.hpp"

namespace dtrain::transport {

/// What mpirun's daemons get besides their command.
struct JobInfo {
    std::string job_token;
    std::chrono::milliseconds grace{0};
};

/// The node rank of an agent, or why it is refused.
using Admission = std::variant<int, Refused>;

/// The server side of the link, in the launcher that runs mpirun: agents connect in any order, prove the key,
/// send their join request, start the MPI daemon when mpirun asks for it, and stay connected until the job is
/// over. An unauthenticated peer occupies a descriptor for a few seconds; if there are too many, the oldest
/// are dropped, those without any proof of the key first, so that most descriptors of the process remain
/// available.
class Coordinator {
  public:
    struct Options {
        FileDescriptor listener;
        Key key;
        std::string name;  ///< name of this node, for messages
        std::function<Admission(const JoinRequest&)> admit;
        std::function<void(int node)> arrived;
        Reactor::Now now = Reactor::Clock::now;
    };

    explicit Coordinator(Options options);
    ~Coordinator();

    Reactor& reactor() { return reactor_; }

    /// Why an agent that cannot take part was refused, e.g. because of its command line. Returned once.
    std::optional<std::string> take_refusal() { return std::exchange(refusal_, std::nullopt); }

    bool is_connected(int node) const { return agents_.contains(node); }
    const JoinRequest& join_request_of(int node) const { return requests_.at(node); }
    /// The remote address of an agent's connection.
    const std::string& peer_of(int node) const { return peers_.at(agents_.at(node)).connection.peer(); }
    /// Renumbers the nodes: node n becomes node numbers[n].
    void renumber(const std::vector<int>& numbers);
    void send(int node, const Message& message);
    void send_to_all(const Message& message);

    /// Serves mpirun's remote shells at this path, for consecutive runs of mpirun.
    void serve_remote_shells(const std::string& path);
    /// The next mpirun's daemons belong to this job.
    /// @param names the nodes' names in mpirun
    /// @param hosts the nodes' hosts, for ssh
    void begin_run(const JobInfo& info, std::vector<std::string> names, std::vector<std::string> hosts);

    /// Nodes whose agents are lost, with the reason.
    const std::map<int, std::string>& lost() const { return lost_; }
    /// The first signal that an agent got; 0: none.
    int asked_to_stop_by() const { return asked_to_stop_by_; }

    /// Notifies all agents, and waits briefly until the message is sent.
    void end(const JobEnded& ending);

  private:
    struct Peer {
        Connection connection;
        std::optional<int> node;  ///< set once it is an agent
        bool leaving = false;     ///< closed as soon as all output is sent
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
    std::deque<int> unauthenticated_;  ///< descriptors of peers that are not agents, oldest first
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
    std::set<std::string> other_keys_;  ///< addresses for which a warning was logged
};

}  // namespace dtrain::transport
