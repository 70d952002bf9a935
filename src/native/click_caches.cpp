// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/click_caches.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/background.hpp"
#include "base/oom_watch.hpp"
#include "base/text.hpp"
#include "data/click_cache.hpp"

namespace dtrain::native {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto max_pause = 200ms;
constexpr auto line_every = 60s;  // if the console is not a terminal

/// Messages for the console about the caches of a node.
struct CachesMade {
    std::vector<std::string> damages;
    std::vector<std::string> made;
};

std::vector<std::filesystem::path> logs_of(const Job& job) {
    std::vector<std::filesystem::path> logs{job.train_data.file};
    if (job.test_data) logs.push_back(job.test_data->file);
    return logs;
}

CachesMade prepare(const Job& job, data::CacheWatch& watch) {
    const auto layout = click_layout_in(job.train_data.file, job.click_columns);
    CachesMade made;
    for (const auto& log : logs_of(job)) {
        const auto cache = data::prepare_click_cache(log, layout, *job.click_cache, watch);
        const auto& flaw = cache.flaw;
        if (flaw && flaw->is_damage) made.damages.push_back(flaw->what + "; it is made anew");
        if (cache.is_new)
            made.made.push_back(
                fmt::format("cache     {}: {}, made of {}{}\n", cache.file.string(),
                            bytes_text(static_cast<std::int64_t>(std::filesystem::file_size(cache.file))),
                            log.string(), flaw && !flaw->is_damage ? "; " + flaw->what : ""));
    }
    return made;
}

/// Creates and checks a node's caches in a thread, and holds the result.
class Work {
  public:
    explicit Work(const Job& job)
        : thread_(Background<CachesMade>::in_thread([this, &job] { return prepare(job, watch_); })) {}
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() { watch_.stops = true; }

    bool has_ended() {
        if (!thread_.valid()) return true;
        if (!thread_.is_ready()) return false;
        try {
            made_ = thread_.get();
        } catch (const UsageError& refused) {
            refusal_ = refused.what();
        } catch (const Error&) {
            if (!watch_.stops) throw;
        }
        return true;
    }

    void stop() { watch_.stops = true; }

    // Valid once has_ended().
    const std::optional<std::string>& refusal() const { return refusal_; }
    const CachesMade& made() const { return made_; }

    std::string progress() const {
        const auto all = std::max<std::int64_t>(1, watch_.all);
        return fmt::format(
            "cache     {}: {}%",
            watch_.is_making ? "reading click logs into it" : "comparing it with its checksums",
            std::min<std::int64_t>(100, 100 * (watch_.done / 1024) / (all / 1024 + 1)));
    }

  private:
    data::CacheWatch watch_;
    std::optional<std::string> refusal_;
    CachesMade made_;
    Background<CachesMade> thread_;
};

/// Shows the progress of this rank's work on the console while other ranks wait.
class WaitingLine {
  public:
    explicit WaitingLine(const Console& console) : console_(console) {}

    void show(const Work& work) {
        const auto now = Clock::now();
        if (!console_.talks() || now < next_) return;
        auto& line = *console_.status_line();
        if (line.on_terminal()) {
            line.show(work.progress());
            next_ = now + max_pause;
        } else {
            console_.print(work.progress() + "\n");
            next_ = now + line_every;
        }
    }

  private:
    const Console& console_;
    Clock::time_point next_ = Clock::now() + 2s;
};

/// The lines of all ranks without duplicates. Collective.
std::set<std::string> gathered(const std::vector<std::string>& lines, const Communicator& world) {
    std::set<std::string> all;
    for (const auto& of_a_rank : world.all_gather(join(lines, std::string(1, '\0'))))
        for (const auto& line : split(of_a_rank, '\0'))
            if (!line.empty()) all.insert(line);
    return all;
}

}  // namespace

void prepare_click_caches(const Job& job, const Communicator& world, const Communicator* trainers,
                          const Console& console) {
    if (!job.click_cache) return;
    std::optional<Work> work;
    if (trainers != nullptr && trainers->node_local().rank() == 0) work.emplace(job);
    WaitingLine line(console);
    std::chrono::milliseconds pause = 1ms;
    while (!world.all(!work || work->has_ended())) {
        if (world.max(std::int64_t{work && work->refusal()}) > 0 && work) work->stop();
        if (work) line.show(*work);
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::milliseconds>(2 * pause, max_pause);
    }
    throw_together(world, work ? work->refusal() : std::nullopt);
    const auto made = work ? work->made() : CachesMade();
    for (const auto& damage : gathered(made.damages, world)) console.complain(damage);
    for (const auto& cache : gathered(made.made, world)) console.print(cache);
}

}  // namespace dtrain::native
