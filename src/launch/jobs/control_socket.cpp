// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/control_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;

constexpr std::size_t max_clients = 64;
constexpr std::size_t max_question = 64;
constexpr std::size_t max_answer = 64 * 1024 * 1024;
constexpr std::size_t max_stacks = 256 * 1024;  // per rank

bool is_own_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == ::geteuid() || peer.uid == 0);
}

FileDescriptor open_spare() {
    return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

ControlSocket::ControlSocket()
    : path_(folder_.path() + "/control"), listener_(transport::listen_at_path(path_)), spare_(open_spare()) {
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

void ControlSocket::describe(std::vector<PlannedRank> planned, int restarts) {
    planned_ = std::move(planned);
    restarts_ = restarts;
    stacks_.clear();
    for (auto& client : clients_)
        if (client.lacking) say(client, dumped({{"end", true}}), true);  // those ranks have ended
}

void ControlSocket::serve(const JobState& job, bool stopping) {
    reactor_.serve();
    for (auto client = clients_.begin(); client != clients_.end();) {
        auto& each = *client++;
        if (each.asked) answer(each, job, stopping);
    }
}

void ControlSocket::accept() {
    auto socket = transport::accept_from(listener_);
    if (!socket.valid() && transport::lacks_resources(errno)) return refuse_one();
    if (!socket.valid() || !is_own_user(socket.get())) return;
    if (clients_.size() >= max_clients) drop_the_silent();
    if (clients_.size() >= max_clients) return;
    const int fd = socket.get();
    const auto client = clients_.insert(clients_.end(), Client{.socket = std::move(socket)});
    reactor_.watch(fd, EPOLLIN, [this, client](std::uint32_t events) {
        if ((events & EPOLLOUT) != 0)
            write(client);
        else if ((events & EPOLLIN) != 0 && client->question.size() < max_question)
            read_question(client);
        else
            drop(client);
    });
}

/// A connection that cannot be accepted would wake the launcher endlessly.
void ControlSocket::refuse_one() {
    spare_ = FileDescriptor();
    transport::accept_from(listener_);
    spare_ = open_spare();
}

void ControlSocket::read_question(Clients::iterator client) {
    std::array<char, max_question> buffer;
    const auto got =
        ::recv(client->socket.get(), buffer.data(), buffer.size() - client->question.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return drop(client);
    client->question.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = client->question.find('\n');
    if (end == std::string::npos) {
        if (client->question.size() >= max_question) drop(client);
        return;
    }
    client->question.resize(end);
    client->asked = true;
    reactor_.change(client->socket.get(), EPOLLRDHUP);  // nothing more is read from it
}

void ControlSocket::answer(Client& client, const JobState& job, bool stopping) {
    const auto question = std::exchange(client.question, "");
    client.asked = false;
    if (question == "summary") {
        say(client, to_json(view_of({}, job, stopping, restarts_)), true);
    } else if (question == "status") {
        say(client, to_json(view_of(planned_, job, stopping, restarts_)), true);
    } else if (question == "end") {
        client.waits_for_end = true;
    } else if (question == "stacks" && !stopping && !job.all_ended()) {
        const auto silent = job.silent();
        client.lacking = std::set<int>(silent.begin(), silent.end());
        stacks_wanted_ = true;
    } else {
        say(client, dumped({{"end", true}}), true);
    }
}

bool ControlSocket::take_stacks_command(const JobState& job) {
    // A worker that is still starting may not be ready for the request.
    if (!stacks_wanted_ || !job.all_have_started()) return false;
    stacks_wanted_ = false;
    return true;
}

void ControlSocket::take(const Event& event, const JobState& job) {
    if (event.rank < 0 || event.rank >= job.size()) return;
    if (event.kind == Event::Kind::stacks || event.kind == Event::Kind::stacks_end) note_stacks(event, job);
    if (event.kind == Event::Kind::stacks_end || job.end_of(event.rank)) no_longer_lacking(event.rank);
}

void ControlSocket::note_stacks(const Event& event, const JobState& job) {
    if (event.kind == Event::Kind::stacks) {
        auto& text = stacks_[event.rank];
        text += event.text.substr(0, max_stacks - std::min(max_stacks, text.size()));
        return;
    }
    const auto collected = stacks_.extract(event.rank);
    const auto line = dumped({{"rank", event.rank},
                              {"host", event.host},
                              {"file", event.text},
                              {"text", collected ? collected.mapped() : std::string()},
                              {"state", job.state_of(event.rank)}});
    for (auto& client : clients_)
        if (client.lacking && client.lacking->contains(event.rank)) say(client, line, false);
}

void ControlSocket::no_longer_lacking(int rank) {
    for (auto& client : clients_)
        if (client.lacking && client.lacking->erase(rank) > 0 && client.lacking->empty())
            say(client, dumped({{"end", true}}), true);
}

void ControlSocket::finish(int status) {
    for (const auto& client : clients_) {
        if (!client.waits_for_end) continue;
        const auto line = dumped({{"status", status}}) + "\n";
        [[maybe_unused]] const auto ignored =
            ::send(client.socket.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void ControlSocket::say(Client& client, const std::string& line, bool last_word) {
    if (client.last_word) return;
    client.last_word = last_word;
    if (client.answer.size() + line.size() > max_answer) {
        client.answer.clear();  // the client does not read: it is dropped at the next write
        client.sent = 0;
        client.last_word = true;
    } else {
        client.answer += line + "\n";
    }
    reactor_.change(client.socket.get(), EPOLLOUT | EPOLLRDHUP);
}

void ControlSocket::write(Clients::iterator client) {
    if (client->sent < client->answer.size()) {
        const auto sent = ::send(client->socket.get(), client->answer.data() + client->sent,
                                 client->answer.size() - client->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) return drop(client);
        client->sent += static_cast<std::size_t>(sent);
    }
    if (client->sent < client->answer.size()) return;
    client->answer.clear();
    client->sent = 0;
    if (client->last_word) return drop(client);
    reactor_.change(client->socket.get(), EPOLLRDHUP);
}

void ControlSocket::drop(Clients::iterator client) {
    reactor_.forget(client->socket.get());
    clients_.erase(client);
}

void ControlSocket::drop_the_silent() {
    const auto silent = std::find_if(clients_.begin(), clients_.end(), [](const Client& client) {
        return !client.waits_for_end && !client.lacking && client.answer.empty();
    });
    drop(silent == clients_.end() ? clients_.begin() : silent);
}

}  // namespace dtrain::launch
