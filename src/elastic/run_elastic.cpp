// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/run_elastic.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <mutex>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/random_id.hpp"
#include "base/signals.hpp"
#include "base/status_retry_later.hpp"
#include "elastic/rank_order.hpp"

namespace dtrain::elastic {
namespace {

using What = Decision::What;
using std::chrono::milliseconds;

constexpr milliseconds between_decisions{1000};
constexpr std::chrono::seconds between_reminders{15};
constexpr std::chrono::seconds max_farewell{60};
constexpr std::chrono::seconds max_return{5};
constexpr int status_failed = 1;
constexpr int status_again = 102;  // Paddle: the program asks to be restarted

/// The next start, with no coordinator and no nodes yet.
/// @param last the job's last start, if there was one
Start next_start(const std::optional<Start>& last) {
    if (!last) return {.number = 1, .run = random_id()};
    return {.number = last->number + 1, .run = last->run.empty() ? random_id() : last->run};
}

std::vector<std::string> names_of(const Start& start) {
    std::vector<std::string> out;
    for (const auto& node : start.nodes) out.push_back(node.name);
    return out;
}

std::vector<Node> named(const Start& start, const std::vector<std::string>& names) {
    std::vector<Node> out;
    for (const auto& name : names)
        if (const auto* node = start.node(name)) out.push_back(*node);
    return out;
}

/// Why a running job is stopped: set by one thread, read by another one.
class StopReason {
  public:
    void set(std::string text, bool give_up) {
        const std::lock_guard lock(mutex_);
        text_ = std::move(text);
        give_up_ = give_up;
    }
    std::string text() const {
        const std::lock_guard lock(mutex_);
        return text_;
    }
    bool give_up() const {
        const std::lock_guard lock(mutex_);
        return give_up_;
    }

  private:
    mutable std::mutex mutex_;
    std::string text_ = "etcd does not answer, and another node may become coordinator";
    bool give_up_ = false;
};

class Fenced {
  public:
    Fenced(Membership& membership, Membership::Fence fence) : membership_(membership) {
        membership_.set_fence(std::move(fence));
    }
    Fenced(const Fenced&) = delete;
    Fenced& operator=(const Fenced&) = delete;
    ~Fenced() { membership_.set_fence(std::nullopt); }

  private:
    Membership& membership_;
};

class Participation {
  public:
    Participation(Membership& membership, const JobKeys& keys, const ElasticOptions& options,
                  const StartRunner& runner)
        : membership_(membership), keys_(keys), options_(options), runner_(runner) {}

    int run() {
        while (signal_ == 0) {
            try {
                if (const auto status = step(membership_.seen())) return *status;
            } catch (const EtcdUnavailable&) {
                // The membership logs this, and when etcd answers again.
            }
            wait();
        }
        return 128 + signal_;
    }

  private:
    /// Does what this node should do now; returns its exit status if it is done.
    std::optional<int> step(const Seen& seen) {
        const auto& view = seen.view;
        if (seen.unavailable_since || !seen.is_registered()) return std::nullopt;
        if (view.state != state_running) return leave_ended(view);
        if (follows(seen)) return follow(*view.start, seen.own_name);

        const auto decision = decide_waiting(policy(view), nodes_of(view, seen.unchanged()));
        const bool first = !view.nodes.empty() && first_of(view) == seen.own_name;
        if (!first && seen.is_coordinator()) membership_.resign();
        switch (decision.what) {
            case What::give_up:
                log_error("{}", decision.reason);
                if (first && (seen.is_coordinator() || membership_.become_coordinator()))
                    end_job(state_failed, status_failed);
                return status_failed;
            case What::start:
                if (!first) return std::nullopt;
                if (seen.is_coordinator() || membership_.become_coordinator()) return start(decision);
                remind(fmt::format(
                    "{} was the coordinator and does not answer; waiting until its lease has expired",
                    membership_.seen().view.coordinator));
                return std::nullopt;
            case What::wait:
            case What::stop:
                remind(decision.reason);
                return std::nullopt;
        }
        return std::nullopt;
    }

    /// The number of nodes in etcd applies to all nodes.
    Policy policy(const JobView& view) const {
        auto out = options_.policy;
        if (view.wanted) out.wanted = *view.wanted;
        return out;
    }

    Nodes nodes_of(const JobView& view, milliseconds unchanged) const {
        Nodes out{.unchanged = unchanged};
        for (const auto& each : view.nodes) {
            if (const auto left = left_out_.find(each.node.name);
                left != left_out_.end() && left->second == each.arrived)
                continue;
            out.alive.push_back(each.node.name);
            if (each.node.start != 0) out.busy.push_back(each.node.name);
        }
        if (view.start) out.previous = names_of(*view.start);
        return out;
    }

    std::string first_of(const JobView& view) const {
        const auto nodes = nodes_of(view, {});
        return rank_order(nodes.previous, nodes.alive, policy(view).wanted.max).front();
    }

    static int leave_ended(const JobView& view) {
        log_info("the job is {}", view.state.empty() ? "removed from etcd" : view.state);
        return view.outcome.value_or(view.state == state_completed ? 0 : status_failed);
    }

    bool follows(const Seen& seen) const {
        const auto& start = seen.view.start;
        if (!start || start->number <= last_start_ || start->coordinator == seen.own_name) return false;
        const auto* coordinator = start->node(start->coordinator);
        const bool has_coordinator = start->coordinator == seen.view.coordinator && coordinator != nullptr &&
                                     seen.view.has(*coordinator);
        const auto* own = start->node(seen.own_name);
        return has_coordinator && own != nullptr && seen.is_own(*own);
    }

    std::optional<int> start(const Decision& decision) {
        const auto seen = membership_.seen();
        auto start = next_start(seen.view.start);
        start.coordinator = seen.own_name;
        for (const auto& name : decision.order) {
            const auto* node = seen.view.node(name);
            if (node == nullptr) return std::nullopt;  // it has just left: decide again
            start.nodes.push_back(*node);
        }
        if (!membership_.write_as_coordinator({Change::put(keys_.start(), to_json(start))}))
            return std::nullopt;
        log_info("{}", decision.reason);
        return drive(start);
    }

    std::optional<int> drive(const Start& start) {
        options_.before_start();
        const StopTimer timer;
        StopReason reason;
        const auto end = [&] {
            const Fenced fenced(membership_, {.timer = &timer, .must_stop = [&](const Seen& seen) {
                                                  return must_stop(seen, start, reason);
                                              }});
            return runner_.coordinator(start, timer, [&] { return reason.text(); });
        }();
        if (!end.absent.empty()) {
            leave_out(named(start, end.absent));
            return std::nullopt;
        }
        return after_driving(end, named(start, end.lost), reason.give_up());
    }

    bool must_stop(const Seen& seen, const Start& start, StopReason& reason) const {
        const auto stop = [&](std::string text, bool give_up = false) {
            reason.set(std::move(text), give_up);
            return true;
        };
        if (!seen.is_coordinator() || seen.view.start != start)
            return stop("this node is not the job's coordinator any more");
        if (seen.view.state != state_running) return stop("the job was ended by others");
        auto nodes = nodes_of(seen.view, seen.unchanged());
        for (const auto& node : start.nodes)
            if (!seen.view.has(node))
                std::erase(nodes.alive, node.name);  // also if it was replaced by another launcher
        auto decision = decide_running(policy(seen.view), nodes);
        if (decision.what == What::wait) return false;
        return stop(std::move(decision.reason), decision.what == What::give_up);
    }

    /// @param lost nodes of the start that no longer respond
    std::optional<int> after_driving(const StartEnd& end, const std::vector<Node>& lost, bool give_up) {
        if (end.stopped_by != 0) return 128 + end.stopped_by;
        if (end.status == 0) return end_job(state_completed, 0);
        if (end.ordered) return give_up ? std::optional(fail(end.status)) : std::nullopt;
        if (!lost.empty() && !rejoin(lost)) {
            if (options_.policy.level == Level::off) return fail(end.status);
        } else if (end.status != status_again) {
            if (options_.policy.level != Level::again || failures_ == options_.max_failures ||
                end.status == status_retry_later)
                return fail(end.status);
            ++failures_;
            log_warning("the job failed with status {}; starting it again, {} of at most {} times",
                        end.status, failures_, options_.max_failures);
        }
        return std::nullopt;
    }

    /// Excludes these nodes until they join again.
    void leave_out(const std::vector<Node>& nodes) {
        const auto view = membership_.seen().view;
        for (const auto& each : view.nodes)
            if (std::any_of(nodes.begin(), nodes.end(),
                            [&](const Node& node) { return is_same_launcher(node, each.node); }))
                left_out_[each.node.name] = each.arrived;
    }

    /// Whether nodes that do not respond are still alive: if so, they register again after their removal. If
    /// another launcher registers at the address of one of them, that one is dead.
    bool rejoin(const std::vector<Node>& nodes) {
        const auto give_up_at = BootClock::now() + max_return;
        const auto any_is_replaced = [&](const JobView& view) {
            return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
                return view.node(node.name) != nullptr && !view.has(node);
            });
        };
        auto view = membership_.seen().view;
        std::vector<std::string> silent;
        for (const auto& node : nodes)
            if (view.has(node)) silent.push_back(node.name);
        try {
            membership_.remove(silent);
        } catch (const EtcdUnavailable&) {
            return false;
        }
        while (BootClock::now() < give_up_at && signal_ == 0) {
            view = membership_.seen().view;
            if (any_is_replaced(view)) return false;
            if (std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) { return view.has(node); }))
                return true;
            wait();
        }
        return false;
    }

    int fail(int status) {
        return options_.failure_is_the_nodes ? options_.failed_status(status)
                                             : end_job(state_failed, options_.failed_status(status));
    }

    /// Writes the outcome. A finished job waits for etcd no longer than others would wait for its node.
    int end_job(std::string_view state, int status) {
        const auto give_up_at = BootClock::now() + max_farewell;
        for (bool away = true; away && BootClock::now() < give_up_at && signal_ == 0;) {
            try {
                membership_.write_as_coordinator({Change::put(keys_.state(), std::string(state)),
                                                  Change::put(keys_.outcome(), std::to_string(status))});
                away = false;
            } catch (const EtcdUnavailable&) {
                wait();
            }
        }
        return status;
    }

    std::optional<int> follow(const Start& start, const std::string& own_name) {
        last_start_ = start.number;
        membership_.work_on(start.number);
        options_.before_start();
        const StopTimer timer;
        const auto end = runner_.agent(start, own_name, timer);
        if (end.stopped_by != 0) return 128 + end.stopped_by;
        membership_.work_on(0);
        return std::nullopt;
    }

    void remind(const std::string& reason) {
        const auto now = BootClock::now();
        if (reason == reminded_ && now < remind_at_) return;
        log_info("{}", reason);
        reminded_ = reason;
        remind_at_ = now + between_reminders;
    }

    /// Waits for a change, a signal or the poll interval.
    void wait() {
        std::array<pollfd, 2> sources{{{signals_.fd(), POLLIN, 0}, {membership_.changed_fd(), POLLIN, 0}}};
        ::poll(sources.data(), sources.size(), static_cast<int>(between_decisions.count()));
        if (const auto taken = signals_.take()) signal_ = taken->number;
    }

    Membership& membership_;
    const JobKeys& keys_;
    const ElasticOptions& options_;
    const StartRunner& runner_;
    SignalSource signals_{stop_signals_and()};
    std::int64_t last_start_ = 0;
    int failures_ = 0;
    std::map<std::string, std::int64_t> left_out_;  ///< nodes that cannot take part, with their arrival
    int signal_ = 0;                                ///< a signal that asked this node to leave
    std::string reminded_;
    BootClock::time_point remind_at_;
};

}  // namespace

int run_elastic(Membership& membership, const JobKeys& keys, const ElasticOptions& options,
                const StartRunner& runner) {
    return Participation(membership, keys, options, runner).run();
}

}  // namespace dtrain::elastic
