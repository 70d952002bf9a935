// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "protocol/event.hpp"

namespace dtrain::launch {

/// Ranks that have not started so long after the last one that has, are told of.
inline constexpr std::chrono::seconds slow_start{30};

/// The state of a job, derived from its workers' events. Pure: no clock, no processes.
class JobState {
  public:
    /// @param service_ranks ranks without work of their own (servers): the job is done when all others are
    explicit JobState(int size, std::set<int> service_ranks = {})
        : ranks_(static_cast<std::size_t>(size)), service_ranks_(std::move(service_ranks)) {
        std::erase_if(service_ranks_, [size](int rank) { return rank < 0 || rank >= size; });
    }

    /// Processes an event; repeated and late ones change nothing.
    void take(const cluster::Event& event);

    /// From now on, ranks that stop do so on the launcher's request.
    void stop_asked() {
        if (!stop_asked_) stopped_after_failure_ = any_failed();
        stop_asked_ = true;
    }
    /// Whether a rank had already failed when the stop was requested.
    bool stopped_after_failure() const { return stopped_after_failure_; }

    int size() const { return static_cast<int>(ranks_.size()); }
    /// Every rank ended with success; service ranks may also have been stopped by the launcher.
    bool all_done() const { return done_ + stopped_service_ranks_ == size(); }
    /// Every rank except the service ranks ended with success.
    bool work_done() const { return done_ - done_service_ranks_ == size() - service_rank_count(); }
    /// Every rank has reported how it ended.
    bool all_ended() const { return ended_ == size(); }
    bool any_failed() const { return failed_ > 0; }
    /// Every rank has started its program or has ended.
    bool all_have_started() const { return begun() == size(); }
    bool has_begun(int rank) const { return start_of(rank) || end_of(rank); }
    /// Number of ranks that have started their program or have ended.
    int begun() const { return up_ + ended_; }
    /// Number of ranks whose program runs; done(): number of ranks that ended with success.
    int up() const { return up_; }
    int done() const { return done_; }
    /// Number of ranks that have ended, with success or not.
    int ended() const { return ended_; }
    bool is_idle(int rank) const {
        const auto& known = ranks_.at(static_cast<std::size_t>(rank));
        return known.idle && !known.ended;
    }

    /// The last events of all ranks that run, if all of these are idle, not all of them compute, and at least
    /// `timeout` has passed since another rank ended, which they may have waited for, and at least
    /// `slow_start`, too, since the last one started if others have not; else empty.
    std::vector<cluster::Event> hung(std::chrono::milliseconds timeout) const;

    /// Failures ordered by time: the first is the cause. Includes ranks that were stopped, but not by the
    /// launcher.
    std::vector<cluster::Event> failures() const;
    /// Ranks that the launcher stopped.
    std::vector<int> stopped() const;
    bool was_stopped_by_us(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).stopped_by_us; }
    /// Ranks that have not reported how they ended.
    std::vector<int> silent() const;
    /// Start event of a rank; tells where and with what it started.
    const std::optional<cluster::Event>& start_of(int rank) const;
    /// End event of a rank, if it was reported.
    const std::optional<cluster::Event>& end_of(int rank) const;
    /// The end of its log that a failed rank of another node sent; "" if nothing arrived.
    const std::string& output_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).output; }
    /// What it sent of its trace::RankState, as JSON, when it became idle or was asked; "": nothing.
    const std::string& state_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).state; }
    /// How its GPUs were used, as metrics::gpus_text(); "" if nothing arrived.
    const std::string& gpus_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).gpus; }

    /// GPU errors that the nodes' kernels logged while their ranks ran (`host`, `text`), each once.
    const std::vector<cluster::Event>& gpu_errors() const { return gpu_errors_; }

  private:
    struct Rank {
        std::optional<cluster::Event> started;
        std::optional<cluster::Event> ended;
        std::shared_ptr<const cluster::Event> idle;  ///< few ranks are; an event takes some 250 bytes
        std::string output;
        std::string gpus;
        std::string state;
        bool stopped_by_us = false;
    };
    void note_end(Rank& rank, const cluster::Event& event);
    int service_rank_count() const { return static_cast<int>(service_ranks_.size()); }

    std::vector<Rank> ranks_;
    std::vector<cluster::Event> gpu_errors_;
    std::set<int> service_ranks_;  ///< indices into ranks_
    // Counters, since they are queried after every event of perhaps 80,000 ranks.
    int up_ = 0, ended_ = 0, done_ = 0, failed_ = 0;
    int done_service_ranks_ = 0, stopped_service_ranks_ = 0;
    int idle_ = 0;  ///< idle ranks that have not ended
    std::int64_t last_start_us_ = 0;
    std::int64_t last_end_us_ = 0;
    bool stop_asked_ = false;
    bool stopped_after_failure_ = false;
};

}  // namespace dtrain::launch
