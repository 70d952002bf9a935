// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "launch/job_state.hpp"

/// How a job ended, for people, for programs and for the exit status. All of it is pure.
namespace dtrain::launch {

inline constexpr std::size_t shown_log_lines = 20;
inline constexpr std::size_t described_ranks = 8;  ///< of each kind, beside the cause; all are named

/// What the plan says of a rank.
struct RankInfo {
    std::string role = "trainer";  ///< in parameter-server jobs: server, worker, heter_worker
    int number = 0;                ///< among those of its role, as in its log's name; a trainer's is its rank
    std::string node;              ///< its node as the plan calls it
    std::string host;              ///< its node as that calls itself, where it has told
    bool is_here = true;           ///< on the machine where dtrain-launch runs
    int local_rank = 0;
    std::vector<std::string> gpus;  ///< ids as users know them; empty: none
    std::string log;                ///< absolute path
    std::string mpirun_name;        ///< its node as mpirun calls it
    friend bool operator==(const RankInfo&, const RankInfo&) = default;
};

/// What is known when nothing of the job runs any more, beside the ranks' events.
struct Ending {
    std::string engine = "mpirun";
    ExitStatus engine_status;
    int asked_to_stop_by = 0;     ///< the signal that dtrain-launch itself got; 0: none
    bool killed_at_once = false;  ///< by a second signal, without the time to end
    std::string engine_text;      ///< what mpirun or srun had to say
    int restarts = 0;             ///< how often the job had been started again after failures
    std::string stop_reason;      ///< why dtrain-launch stopped a job in which no rank failed: "it hangs"
    std::vector<std::string> stop_details;  ///< more about that, line by line
    int stop_status = 1;                    ///< the exit status then
    std::string lost_node;                  ///< the node of which nothing was heard any more
    std::string lost_because;               ///< what is known of the reason; "" for nothing
    std::string machine;                    ///< where dtrain-launch runs
    std::string machine_info;               ///< what it says about ranks there that could not tell themselves
};

/// How one rank ended.
struct RankEnd {
    enum class How {
        exited,             ///< by itself, and not with 0
        issue,              ///< nothing could be started; `detail`
        vanished,           ///< its worker never told: killed, or its node is lost
        stopped_by_us,      ///< by dtrain-launch
        stopped_by_others,  ///< by mpirun, a scheduler or a person
    };

    int rank = 0;
    RankInfo info;  ///< with the host that the rank itself told
    How how = How::exited;
    ExitStatus status;
    int pid = 0;                    ///< of the program; 0: not known
    std::optional<double> seconds;  ///< from its start to its end
    std::string detail;             ///< what went wrong, or what its machine has to say about the end
    std::string exception;          ///< as its log names it; "" when it does not, or nobody looked
    std::string error;              ///< dtrain's own word of it in its log; "" when there is none
    bool followed = false;     ///< it ended by itself because of the cause's error, which all ranks threw
    bool told = false;         ///< the cause's error, before it was stopped
    bool consequence = false;  ///< its log says that somebody ended it while others failed by themselves
    /// It exited with a status of its own though it was stopped: it may have failed at the same time.
    bool exited_while_stopped() const { return how == How::stopped_by_us && status.signal == 0; }
    friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

struct FailureReport {
    enum class Outcome { done, failed, stopped };

    Outcome outcome = Outcome::done;
    int status = 0;  ///< of dtrain-launch: the cause's, 128 + signal, never 0 for a failure
    struct Role {
        std::string name;
        int size = 0;
    };
    std::vector<Role> roles;  ///< in the order of their ranks
    int restarts = 0;
    int asked_to_stop_by = 0;
    bool killed_at_once = false;
    bool stopped_after_failure = false;  ///< ranks were stopped because of `failed`, not because of a signal
    std::string stop_reason;
    std::vector<std::string> stop_details;
    std::vector<RankEnd> failed;      ///< the cause first, then by time, consequences last
    std::vector<RankEnd> stopped;     ///< ranks that are no failures
    std::vector<RankEnd> silent;      ///< ranks that never told their end after another one had failed
    std::vector<RankEnd> waited_for;  ///< those that the cause waited for in vain, by its own word
    std::string lost_node;            ///< whose ranks `failed` begins with; "": no node was lost
    std::string lost_because;         ///< why, where that is known
    std::string cancelled;            ///< by whom and why, where a scheduler ended all ranks; "" else
    std::string not_started;          ///< why no rank of the job was ever started; "" when some were
    std::vector<std::string> hints;   ///< what the cause's end usually means, and what is known of it
    std::string last_lines;           ///< of the cause's log
    std::string engine = "mpirun";
    ExitStatus engine_status;
    std::string engine_text;

    const RankEnd* cause() const { return failed.empty() ? nullptr : &failed.front(); }
};

/// Finds out what happened. The first failure by time is the cause, with three exceptions: when a worker
/// vanished without a word mpirun stops the others, so that it is the cause (the one that mpirun names, those
/// of a lost node, or all of them); and a rank whose log tells that it got SIGTERM comes after those that
/// failed by themselves; and when ranks ended together, see put_reporter_first().
/// @param ranks one for each rank of the job
/// @param log_tail what a rank has written last
FailureReport examine(const JobState& job, const Ending& ending, const std::vector<RankInfo>& ranks,
                      const std::function<std::string(int rank)>& log_tail);

/// The report with no secret in it.
FailureReport redacted(FailureReport report, const KnownSecrets& secrets);

/// "the program ended with exit code 7".
std::string how_it_ended(const RankEnd& end);

/// For people: the cause with rank, host, how it ended, and its log; the ranks that failed or were stopped
/// besides; then Paddle's ABORT line with all failed ranks. "" after success.
std::string report_text(const FailureReport& report);

/// For programs: one JSON object, also after success.
std::string report_json(const FailureReport& report);

/// The line that the log of a rank that was stopped, or ended because of the cause, ends with, so that nobody
/// looks for the cause there; nothing for any other rank.
std::optional<std::string> final_lines(const FailureReport& report, const RankEnd& rank);

}  // namespace dtrain::launch
