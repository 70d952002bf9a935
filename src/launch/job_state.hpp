// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cluster/event.hpp"

namespace dtrain::launch {

/// What is known of a job from its workers' events. Pure: no clock, no processes.
class JobState {
  public:
    /// @param service_ranks ranks without work of their own: the job is done when all others are (servers)
    explicit JobState(int size, std::set<int> service_ranks = {})
        : ranks_(static_cast<std::size_t>(size)), service_ranks_(std::move(service_ranks)) {
        std::erase_if(service_ranks_, [size](int rank) { return rank < 0 || rank >= size; });
    }

    /// Takes an event in; repeated and late ones change nothing.
    void take(const cluster::Event& event);

    /// From now on ranks that stop do so because we asked.
    void stop_asked() {
        if (!stop_asked_) stopped_after_failure_ = any_failed();
        stop_asked_ = true;
    }
    /// We asked when some rank had failed already.
    bool stopped_after_failure() const { return stopped_after_failure_; }

    int size() const { return static_cast<int>(ranks_.size()); }
    /// Every rank ended with success; service_ranks may also have been stopped by us.
    bool all_done() const { return done_ + stopped_service_ranks_ == size(); }
    /// Every rank but the service_ranks ended with success.
    bool work_done() const { return done_ - done_service_ranks_ == size() - service_rank_count(); }
    /// Every rank has reported how it ended.
    bool all_ended() const { return ended_ == size(); }
    bool any_failed() const { return failed_ > 0; }
    /// No rank has yet to start its program.
    bool all_have_started() const { return up_ + ended_ == size(); }
    /// Some ranks have told something, others nothing yet.
    bool some_are_starting() const { return up_ + ended_ > 0 && !all_have_started(); }
    /// Ranks whose program runs, and ranks that have ended well.
    int up() const { return up_; }
    int done() const { return done_; }
    /// Ranks that have ended, well or not.
    int ended() const { return ended_; }
    bool is_idle(int rank) const {
        const auto& known = ranks_.at(static_cast<std::size_t>(rank));
        return known.idle && !known.ended;
    }

    /// The last word of every rank that has not ended, when all of these are idle and have had `timeout`
    /// since another one ended, which they may have waited for; else nothing.
    std::vector<cluster::Event> hung(std::chrono::milliseconds timeout) const;

    /// Failures in the order of time: the first is the cause. A rank that was stopped by somebody else than
    /// us counts.
    std::vector<cluster::Event> failures() const;
    /// Ranks that we stopped.
    std::vector<int> stopped() const;
    bool was_stopped_by_us(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).stopped_by_us; }
    /// Ranks that have not told how they ended.
    std::vector<int> silent() const;
    /// Where and with what a rank started, if it did.
    const std::optional<cluster::Event>& start_of(int rank) const;
    /// How a rank ended, if it told.
    const std::optional<cluster::Event>& end_of(int rank) const;
    /// What a failed rank of another node sent of its log; "" when nothing came.
    const std::string& output_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).output; }
    /// How its GPUs were used, as report::gpus_text(); "" when nothing came.
    const std::string& gpus_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).gpus; }

    /// Errors of GPUs that the kernels of nodes have logged while their ranks ran: `host`, `text`, each once.
    const std::vector<cluster::Event>& gpu_errors() const { return gpu_errors_; }

  private:
    struct Rank {
        std::optional<cluster::Event> started;
        std::optional<cluster::Event> ended;
        std::optional<cluster::Event> idle;
        std::string output;
        std::string gpus;
        bool stopped_by_us = false;
    };
    void note_end(Rank& rank, const cluster::Event& event);
    int service_rank_count() const { return static_cast<int>(service_ranks_.size()); }

    std::vector<Rank> ranks_;
    std::vector<cluster::Event> gpu_errors_;
    std::set<int> service_ranks_;  ///< of these ranks
    // Asked after every event of perhaps 80,000 ranks: counted, not looked for.
    int up_ = 0, ended_ = 0, done_ = 0, failed_ = 0;
    int done_service_ranks_ = 0, stopped_service_ranks_ = 0;
    int idle_ = 0;  ///< of those that have not ended
    std::int64_t last_end_us_ = 0;
    bool stop_asked_ = false;
    bool stopped_after_failure_ = false;
};

}  // namespace dtrain::launch
