// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.hpp"
#include "elastic/boot_clock.hpp"
#include "elastic/etcd_client.hpp"
#include "elastic/job_keys.hpp"
#include "elastic/stop_timer.hpp"

namespace dtrain::elastic {

struct MembershipOptions {
    EtcdAccess access;
    EtcdLimits limits;
    JobKeys keys;
    Node self;  ///< the membership fills in its name and its launcher's id
    /// Wait until another launcher at this address is gone, or has been silent for `lease_seconds`.
    bool one_per_address = false;
    /// Seconds after which a silent node counts as lost.
    int lease_seconds = 60;
    /// Time that a job needs to stop, from the request on; what is left of it after three quarters of that
    /// time is killed.
    std::chrono::milliseconds time_to_stop{17'000};
};

/// The known state of a job and of this node in it.
struct Seen {
    JobView view;
    std::string own_name;
    std::string own_launcher;  ///< id of this process
    std::int64_t own_lease = 0;
    BootClock::time_point nodes_since;                ///< since when no node has joined or left
    std::optional<BootClock::time_point> away_since;  ///< since when etcd has not answered

    bool is_coordinator() const { return !view.coordinator.empty() && view.coordinator_lease == own_lease; }
    /// Whether a node entry belongs to this process.
    bool is_own(const Node& node) const { return is_same_launcher(node, own()); }
    /// Whether the others see this process; its name alone may by now belong to another one.
    bool is_registered() const { return view.has(own()); }
    std::chrono::milliseconds unchanged() const;

  private:
    Node own() const { return {.name = own_name, .launcher = own_launcher}; }
};

/// This node's membership in an elastic job: a key in etcd that lives as long as this object renews its
/// lease, and etcd's view of the other nodes. If etcd does not answer, that is logged once, the last known
/// state is kept, and it is retried forever. A lease that expired meanwhile is replaced by a new one.
///
/// A job that this node coordinates is fenced: the coordinator key is held by the same lease, and `fence`
/// stops the job before that lease can have expired in etcd; only then can another node become coordinator.
class Membership {
  public:
    /// Registers the node.
    /// @throws EtcdAway if no endpoint answers, EtcdRefused if one refuses.
    explicit Membership(MembershipOptions options);
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership();

    /// Unregisters this node, which the others see at once; this node's view of the others is kept.
    void leave();

    Seen seen() const;
    /// Becomes readable after any change; seen() resets it.
    int changed_fd() const { return changed_.get(); }

    /// Tries to become the job's coordinator, and reads the state again. Returns whether this node is
    /// coordinator then.
    bool become_coordinator();
    void resign();
    /// Writes keys that only the coordinator may write; false if this node is no longer coordinator.
    bool write_as_coordinator(const std::vector<Change>& changes);
    /// Publishes which start this node works on, 0: none; if etcd does not answer, as soon as it does.
    void work_on(std::int64_t start);
    /// Removes the keys of nodes that are known to be lost; a node that is still alive registers again.
    void remove(const std::vector<std::string>& names);

    /// While this is set, the job behind `timer` is fenced, and another thread calls `must_stop` after every
    /// change and once per second; true stops the job.
    struct Fence {
        const StopTimer* timer = nullptr;
        std::function<bool(const Seen&)> must_stop;
    };
    void set_fence(std::optional<Fence> fence);

    /// `seconds`, or more if a job could not be stopped within such a lease.
    static int sufficient_lease(int seconds, std::chrono::milliseconds time_to_stop);

  private:
    /// What the keeper thread has to do next.
    struct Due {
        BootClock::time_point renewal;
        bool refresh = true;
    };

    bool register_node(EtcdClient& client);
    void refresh(EtcdClient& client);
    static void transact_while_leased(EtcdClient& client, const std::vector<Condition>& conditions,
                                      const std::vector<Change>& changes);
    void notify_others(EtcdClient& client);
    void keep();
    void keep_once(EtcdClient& client, Due& due);
    void note_away(const std::exception& error);
    void note_lease(BootClock::time_point sent, const Lease& lease);
    void put_off_stop();
    std::chrono::milliseconds until_kill() const { return options_.time_to_stop * 3 / 4; }
    void stop_fenced();
    bool ask_fence();
    Seen snapshot() const;
    void publish();
    bool sleep_for(std::chrono::milliseconds time);

    MembershipOptions options_;
    EtcdClient client_;  ///< used by the owner's thread
    EtcdClient keeper_;  ///< used by the keeper thread, which renews the lease
    FileDescriptor changed_;

    mutable std::mutex mutex_;
    std::condition_variable leaving_;
    Seen seen_;
    BootClock::time_point lease_until_;
    bool leave_ = false;

    std::mutex fence_mutex_;
    std::optional<Fence> fence_;
    bool stop_requested_ = false;

    std::thread thread_;
};

}  // namespace dtrain::elastic
