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
    Node self;  ///< its name and its launcher's mark are given by the membership
    /// Wait until another launcher at this address is gone, or has not been heard of for so long.
    bool one_per_address = false;
    /// Seconds after which a node that is not heard of counts as gone.
    int lease_seconds = 60;
    /// How long a job needs to be gone, from when it is told to stop; what is left of it after three quarters
    /// of that is told to go at once.
    std::chrono::milliseconds time_to_stop{17'000};
};

/// What is known of a job and of this node's part in it.
struct Seen {
    JobView view;
    std::string own_name;
    std::string own_launcher;  ///< mark of this process
    std::int64_t own_lease = 0;
    BootClock::time_point nodes_since;                ///< since when no node has come or gone
    std::optional<BootClock::time_point> away_since;  ///< etcd has not answered since

    bool is_coordinator() const { return !view.coordinator.empty() && view.coordinator_lease == own_lease; }
    /// Whether a node is this process.
    bool is_own(const Node& node) const { return is_same_launcher(node, own()); }
    /// Whether the others see this process; its name alone may be another's by now.
    bool is_registered() const { return view.has(own()); }
    std::chrono::milliseconds unchanged() const;

  private:
    Node own() const { return {.name = own_name, .launcher = own_launcher}; }
};

/// This node's place in an elastic job: a key in etcd that lives as long as this object keeps its lease, and
/// what etcd says of the others. When etcd does not answer, that is logged once, everything is taken to be as
/// it was, and tried again for ever. A lease that ran out meanwhile is followed by a new one.
///
/// A job that this node drives is fenced: the coordinator key is held by the same lease, and `fence` stops
/// the job before that lease can have run out in etcd, which alone lets another node become coordinator.
class Membership {
  public:
    /// Registers the node.
    /// @throws EtcdAway when no endpoint answers, EtcdRefused when one says no.
    explicit Membership(MembershipOptions options);
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership();

    /// The others see at once that this node is gone; what is seen of them stays as it is.
    void leave();

    Seen seen() const;
    /// Readable after anything has changed; seen() makes it unreadable.
    int changed_fd() const { return changed_.get(); }

    /// Tries to become the job's coordinator, and reads the state again. True when this node is coordinator
    /// then.
    bool become_coordinator();
    void resign();
    /// Writes keys that only the coordinator may write; false when this node is not coordinator any more.
    bool write_as_coordinator(const std::vector<Change>& changes);
    /// Tells the others which start this node works on, 0: none; when etcd is away, as soon as it is back.
    void work_on(std::int64_t start);
    /// Takes away the keys of nodes that are known to be lost; one that is alive all the same comes again.
    void remove(const std::vector<std::string>& names);

    /// While this is set, the job behind `timer` is fenced, and `must_stop` is asked whenever something has
    /// changed and once a second, from another thread; true stops the job.
    struct Fence {
        const StopTimer* timer = nullptr;
        std::function<bool(const Seen&)> must_stop;
    };
    void set_fence(std::optional<Fence> fence);

    /// `seconds`, or more where a job could not be stopped within such a lease.
    static int sufficient_lease(int seconds, std::chrono::milliseconds time_to_stop);

  private:
    /// What the keeper's thread has to do next.
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
    EtcdClient client_;  ///< of the owner's thread
    EtcdClient keeper_;  ///< of the thread that keeps the lease
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
