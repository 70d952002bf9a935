// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scrape/endpoint.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/quiet_thread.hpp"
#include "scrape/http.hpp"

namespace dtrain::scrape {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t max_clients = 16;
constexpr std::chrono::seconds time_of_client{10};  // how long Prometheus waits for an answer
constexpr milliseconds without_descriptors{500};

/// One connection, from its request until its answer is sent.
class Client {
  public:
    explicit Client(FileDescriptor socket) : socket_(std::move(socket)) {}

    pollfd wanted() const {
        const bool writes = answer_ && sent_ < answer_->size();
        return {socket_.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0};
    }
    bool is_late() const { return Clock::now() >= end_; }
    milliseconds left() const {
        return std::max(std::chrono::ceil<milliseconds>(end_ - Clock::now()), milliseconds{0});
    }

    /// False if the connection is done.
    bool go_on(const std::function<std::string()>& text) {
        if (answer_ && sent_ < answer_->size()) return write();
        return read(text);
    }

  private:
    bool read(const std::function<std::string()>& text) {
        std::array<char, max_request> buffer;
        const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (got == 0) return false;
        if (answer_) return true;  // it already has its answer; further data is ignored
        request_.append(buffer.data(), static_cast<std::size_t>(got));
        answer_ = answer_to(request_, text);
        return !answer_ || write();
    }

    bool write() {
        while (sent_ < answer_->size()) {
            const auto sent = ::send(socket_.get(), answer_->data() + sent_, answer_->size() - sent_,
                                     MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0) return errno == EAGAIN || errno == EINTR;
            sent_ += static_cast<std::size_t>(sent);
        }
        // If the socket were closed now, unread data from the client would make the kernel discard the
        // answer.
        return ::shutdown(socket_.get(), SHUT_WR) == 0;
    }

    FileDescriptor socket_;
    Clock::time_point end_ = Clock::now() + time_of_client;
    std::string request_;
    std::optional<std::string> answer_;
    std::size_t sent_ = 0;
};

class Serving {
  public:
    Serving(FileDescriptor listener, int stop, std::function<std::string()> text)
        : listener_(std::move(listener)), stop_(stop), text_(std::move(text)) {}

    void run() {
        for (;;) {
            std::vector<pollfd> sources{{stop_, POLLIN, 0},
                                        {Clock::now() < accept_from_ ? -1 : listener_.get(), POLLIN, 0}};
            for (const auto& client : clients_) sources.push_back(client.wanted());
            ::poll(sources.data(), sources.size(), time_left_ms());
            if (sources[0].revents != 0) return;
            auto source = sources.begin() + 2;
            for (auto client = clients_.begin(); client != clients_.end(); ++source) {
                const bool goes_on = !client->is_late() && (source->revents == 0 || client->go_on(text_));
                client = goes_on ? std::next(client) : clients_.erase(client);
            }
            if (sources[1].revents != 0) accept();
        }
    }

  private:
    int time_left_ms() const {
        std::optional<milliseconds> left;
        if (!clients_.empty()) left = clients_.front().left();  // the oldest connection
        if (Clock::now() < accept_from_)
            left = std::min(left.value_or(without_descriptors), without_descriptors);
        return left ? static_cast<int>(left->count()) : -1;
    }

    void accept() {
        FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket.valid()) {
            if (clients_.size() == max_clients) clients_.pop_front();
            clients_.emplace_back(std::move(socket));
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            accept_from_ = Clock::now() + without_descriptors;  // otherwise the pending connection would wake
                                                                // the thread endlessly
        }
    }

    FileDescriptor listener_;
    int stop_;
    std::function<std::string()> text_;
    std::list<Client> clients_;  ///< oldest first
    Clock::time_point accept_from_{};
};

}  // namespace

Endpoint::Endpoint(FileDescriptor listener, std::function<std::string()> text)
    : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = quiet_thread<std::jthread>(
        [serving = Serving(std::move(listener), stop_.get(), std::move(text))]() mutable { serving.run(); });
}

Endpoint::~Endpoint() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(stop_.get(), &one, sizeof one);
}

}  // namespace dtrain::scrape
