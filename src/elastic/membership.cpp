// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/membership.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/random_id.hpp"
#include "base/signal_free_thread.hpp"
#include "base/text.hpp"

namespace dtrain::elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds poll_interval_running{1000};
constexpr milliseconds poll_interval_waiting{5000};
constexpr milliseconds between_tries{500};  // while etcd does not answer

FileDescriptor event_fd() {
    FileDescriptor fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
    return fd;
}

milliseconds time_between(BootClock::time_point from, BootClock::time_point to) {
    return std::chrono::duration_cast<milliseconds>(to - from);
}

}  // namespace

milliseconds Seen::unchanged() const {
    return time_between(nodes_since, BootClock::now());
}

int Membership::min_lease(int asked_seconds, milliseconds time_to_stop) {
    const auto min = std::chrono::ceil<seconds>(time_to_stop * 4 / 3);
    return std::max(asked_seconds, static_cast<int>(min.count()));
}

Membership::Membership(MembershipOptions options)
    : options_(std::move(options)),
      client_(options_.access, options_.limits),
      keeper_(options_.access, options_.limits),
      changed_(event_fd()) {
    options_.lease_seconds = min_lease(options_.lease_seconds, options_.time_to_stop);
    options_.self.launcher = seen_.own_launcher = random_id();
    for (bool has_warned = false; !register_node(client_); has_warned = true) {
        if (!has_warned)
            log_warning("a launcher at {} takes part in job {} already; waiting until it is gone",
                        options_.self.address, options_.keys.job_id());
        std::this_thread::sleep_for(between_tries);
    }
    thread_ = signal_free_thread([this] { keep(); });
}

Membership::~Membership() {
    leave();
}

void Membership::leave() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(leave_, true)) return;
    }
    leaving_.notify_all();
    keeper_.interrupt();
    thread_.join();
    try {
        client_.revoke(seen_.own_lease);
    } catch (const std::exception& error) {
        log_warning("left job {} without a word, others see it after {} s: {}", options_.keys.job_id(),
                    options_.lease_seconds, error.what());
    }
}

Seen Membership::seen() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored = ::read(changed_.get(), &count, sizeof count);
    return snapshot();
}

Seen Membership::snapshot() const {
    const std::lock_guard lock(mutex_);
    return seen_;
}

/// Does nothing if the lease has expired: the keeper thread gets a new one.
void Membership::transact_while_leased(EtcdClient& client, const std::vector<Condition>& conditions,
                                       const std::vector<Change>& changes) {
    try {
        client.transact(conditions, changes);
    } catch (const EtcdRefused& refused) {
        if (refused.code() != Refusal::not_found) throw;
    }
}

bool Membership::become_coordinator() {
    const auto before = seen();
    transact_while_leased(client_, {Condition::absent(options_.keys.coordinator())},
                          {Change::put(options_.keys.coordinator(), before.own_name, before.own_lease)});
    refresh(client_);  // also if the answer was lost in transit
    return seen().is_coordinator();
}

void Membership::resign() {
    const auto before = seen();
    client_.transact({Condition::held_by(options_.keys.coordinator(), before.own_lease)},
                     {Change::erase(options_.keys.coordinator())});
    refresh(client_);
}

bool Membership::write_as_coordinator(const std::vector<Change>& changes) {
    const bool written =
        client_.transact({Condition::held_by(options_.keys.coordinator(), seen().own_lease)}, changes);
    refresh(client_);
    return written;
}

void Membership::work_on(std::int64_t start) {
    {
        const std::lock_guard lock(mutex_);
        options_.self.start = start;
    }
    try {
        notify_others(client_);
        refresh(client_);
    } catch (const EtcdUnavailable& away) {
        note_unavailable(away);  // the keeper thread will notify them
    }
}

/// Updates this node's entry if it differs from the one in etcd.
void Membership::notify_others(EtcdClient& client) {
    const auto [self, registered, lease] = [this] {
        const std::lock_guard lock(mutex_);
        const auto* seen = seen_.view.node(options_.self.name);
        return std::tuple(options_.self, seen ? std::optional(*seen) : std::nullopt, seen_.own_lease);
    }();
    if (!registered || *registered == self || !is_same_launcher(*registered, self)) return;
    const auto key = options_.keys.node(self.name);
    transact_while_leased(client, {Condition::held_by(key, lease)}, {Change::put(key, to_json(self), lease)});
}

void Membership::remove(const std::vector<std::string>& names) {
    for (const auto& name : names) client_.erase(options_.keys.node(name));
    refresh(client_);
}

void Membership::set_fence(std::optional<Fence> fence) {
    {
        const std::lock_guard lock(fence_mutex_);
        fence_ = std::move(fence);
        stop_requested_ = false;
        if (!fence_) return;
        const std::lock_guard seen_lock(mutex_);
        postpone_stop();
    }
    ask_fence();
}

/// The first launcher at an address uses the address as its name, others append "#2" and so on. False if only
/// one is allowed and there is another one.
bool Membership::register_node(EtcdClient& client) {
    const auto sent = BootClock::now();
    const auto lease = client.grant(options_.lease_seconds);
    auto self = [this] {
        const std::lock_guard lock(mutex_);
        return options_.self;
    }();
    const int max_launchers = options_.one_per_address ? 1 : 4096;
    for (int number = 1; number <= max_launchers; ++number) {
        self.name = number == 1 ? self.address : fmt::format("{}#{}", self.address, number);
        const auto key = options_.keys.node(self.name);
        if (!client.transact({Condition::absent(key)}, {Change::put(key, to_json(self), lease.id)})) {
            const auto registered = client.get(key);
            if (registered.keys.empty() || registered.keys.front().lease != lease.id) continue;
        }
        {
            const std::lock_guard lock(mutex_);
            options_.self.name = self.name;
            seen_.own_name = self.name;
            seen_.own_lease = lease.id;
        }
        note_lease(sent, lease);
        refresh(client);  // the previous view lacks the new registration
        return true;
    }
    client.revoke(lease.id);
    return false;
}

void Membership::refresh(EtcdClient& client) {
    auto view = job_view(options_.keys, client.get_prefix(options_.keys.state()));
    const std::lock_guard lock(mutex_);
    if (view.revision < seen_.view.revision) return;  // the other thread was faster
    if (view.names() != seen_.view.names()) seen_.nodes_since = BootClock::now();
    if (seen_.unavailable_since)
        log_info("etcd is back after {} s",
                 time_between(*seen_.unavailable_since, BootClock::now()).count() / 1000);
    seen_.unavailable_since.reset();
    if (view == seen_.view) return;
    seen_.view = std::move(view);
    publish();
}

void Membership::publish() {
    constexpr std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(changed_.get(), &one, sizeof one);
}

void Membership::keep() {
    Due due{.renewal = BootClock::now()};
    while (!sleep_for(milliseconds(0))) {
        try {
            keep_once(keeper_, due);
        } catch (const std::exception& error) {
            note_unavailable(error);
            due.refresh = true;
            ask_fence();
            sleep_for(between_tries);
        }
    }
}

void Membership::keep_once(EtcdClient& client, Due& due) {
    if (BootClock::now() >= due.renewal) {
        const auto sent = BootClock::now();
        const auto lease = client.keep_alive(snapshot().own_lease);
        if (lease.seconds > 0) {
            note_lease(sent, lease);
        } else {
            stop_fenced();
            if (!register_node(client)) {
                sleep_for(between_tries);
                return;
            }
        }
        due.renewal = sent + (seconds(options_.lease_seconds) - options_.time_to_stop) / 4;
    }
    if (due.refresh) refresh(client);
    const auto now = snapshot();
    // Others may have considered this node lost, and removed it.
    if (!now.is_registered()) {
        client.revoke(now.own_lease);
        stop_fenced();
        due.renewal = BootClock::now();  // the lease is gone and cannot be renewed: the renewal registers the
                                         // node again
        return;
    }
    notify_others(client);
    const auto poll_interval = ask_fence() ? poll_interval_running : poll_interval_waiting;
    const auto limit =
        std::clamp(time_between(BootClock::now(), due.renewal), milliseconds(1), poll_interval);
    due.refresh = client.changed_since(options_.keys.state(), now.view.revision, limit);
}

void Membership::note_unavailable(const std::exception& error) {
    const std::lock_guard lock(mutex_);
    if (seen_.unavailable_since || leave_) return;
    seen_.unavailable_since = BootClock::now();
    log_warning("{}; trying again", error.what());
    publish();
}

void Membership::note_lease(BootClock::time_point sent, const Lease& lease) {
    const std::lock_guard fence_lock(fence_mutex_);
    const std::lock_guard lock(mutex_);
    lease_until_ = sent + seconds(lease.seconds);
    if (fence_ && !stop_requested_) postpone_stop();
}

/// Requires both mutexes to be locked.
void Membership::postpone_stop() {
    fence_->timer->stop_at(lease_until_ - options_.time_to_stop, until_kill());
}

/// The lease is gone: the job that it fenced must stop.
void Membership::stop_fenced() {
    const std::lock_guard lock(fence_mutex_);
    if (!fence_ || stop_requested_) return;
    stop_requested_ = true;
    fence_->timer->stop_now(milliseconds(0));
}

/// Whether there is a fence.
bool Membership::ask_fence() {
    const auto now = snapshot();
    const std::lock_guard lock(fence_mutex_);
    if (!fence_) return false;
    if (!stop_requested_ && fence_->must_stop(now)) {
        stop_requested_ = true;
        fence_->timer->stop_now(until_kill());
    }
    return true;
}

/// True if this object is being destroyed.
bool Membership::sleep_for(milliseconds time) {
    std::unique_lock lock(mutex_);
    return leaving_.wait_for(lock, time, [this] { return leave_; });
}

}  // namespace dtrain::elastic
