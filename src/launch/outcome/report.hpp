// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rank_error.hpp"
#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "launch/outcome/hang_report.hpp"
#include "launch/outcome/job_state.hpp"
#include "launch/outcome/log_text.hpp"
#include "trace/hang_diagnosis.hpp"

/// How a job ended, for people, for programs and for the exit status. Pure.
namespace dtrain::launch {

inline constexpr std::size_t shown_log_lines = 20;
inline constexpr std::size_t described_ranks = 8;  ///< of each kind, besides the cause; all ranks are named

/// The plan's info about a rank.
struct RankInfo {
    std::string role = "trainer";  ///< in parameter-server jobs: server, worker, heter_worker
    int number = 0;                ///< index within its role, as in its log's name; a trainer's is its rank
    std::string node;              ///< host name of its node in the plan
    std::string host;              ///< the node's own host name, if it was reported
    bool is_local = true;          ///< on the machine where dtrain-launch runs
    int local_rank = 0;
    std::vector<std::string> gpus;  ///< ids as shown to users; empty: none
    std::string log;                ///< absolute path
    std::string other_log;          ///< of its stdout, if `log` has its stderr only; "": there is none
    std::string backend_name;       ///< its node's name in the launch backend
    friend bool operator==(const RankInfo&, const RankInfo&) = default;
};

/// What is known once all processes of a start have ended, besides the ranks' events.
struct Ending {
    std::string engine = "mpirun";
    std::string launcher = "dtrain-launch";  ///< the program that the user started
    ExitStatus engine_status;
    int asked_to_stop_by = 0;     ///< the signal that dtrain-launch got; 0: none
    bool killed_at_once = false;  ///< by a second signal, without grace time
    std::string engine_text;      ///< messages of mpirun or srun
    int restarts = 0;             ///< number of restarts after failures
    std::string stop_reason;      ///< why dtrain-launch stopped a job without a failed rank: "it hangs"
    std::vector<std::string> stop_details;     ///< details of the reason, one per line
    int stop_status = 1;                       ///< the exit status in that case
    std::optional<trace::HangDiagnosis> hang;  ///< if it was stopped as it hung: what the ranks' states tell
    std::vector<ReportedHang> reported_hangs;  ///< those for which it was not stopped
    std::string lost_node;                     ///< the node that no longer responded
    std::string lost_because;                  ///< the reason, if known; else ""
    std::string machine;                       ///< host name of the machine where dtrain-launch runs
    std::string machine_info;  ///< its info about ranks there that could not report themselves
};

/// How one rank ended.
struct RankEnd {
    enum class How {
        exited,             ///< by itself, with a status other than 0
        issue,              ///< nothing could be started; see `detail`
        vanished,           ///< its worker did not report an end: killed, or its node is lost
        stopped_by_us,      ///< by dtrain-launch
        stopped_by_others,  ///< by mpirun, a scheduler or a person
    };

    int rank = 0;
    RankInfo info;  ///< with the host that the rank reported
    How how = How::exited;
    ExitStatus status;
    int pid = 0;                    ///< of the program; 0: unknown
    std::optional<double> seconds;  ///< from its start to its end
    std::string detail;             ///< what went wrong, or its machine's info about the end
    std::string exception;          ///< Python exception in its error file or log; "": none, or not searched
    std::shared_ptr<const RankError> error;  ///< what its program says about its failure; null: nothing
    bool followed = false;  ///< it ended by itself because of the cause's error, which all ranks threw
    bool reported = false;  ///< it reported the cause's error before it was stopped
    EndedBy ended_by = EndedBy::itself;  ///< not by itself only if another rank of `failed` was
    bool is_consequence() const { return ended_by != EndedBy::itself; }
    /// The program's own error, unless it is the Python exception; "" if there is none.
    std::string error_message() const {
        return error && error->source == RankError::Source::dtrain ? error->message : "";
    }
    /// Whether it exited with its own status although it was stopped: it may have failed at the same time.
    bool exited_while_stopped() const { return how == How::stopped_by_us && status.signal == 0; }
};

struct FailureReport {
    enum class Outcome { done, failed, stopped };

    Outcome outcome = Outcome::done;
    int status = 0;  ///< exit status of dtrain-launch: the cause's, or 128 + signal; never 0 for a failure
    struct Role {
        std::string name;
        int size = 0;
    };
    std::vector<Role> roles;  ///< in the order of their ranks
    Ending ending;
    bool stopped_after_failure = false;  ///< ranks were stopped because of `failed`, not because of a signal
    std::vector<RankEnd> failed;         ///< the cause first, then by time, consequences last
    std::vector<RankEnd> stopped;        ///< ranks that were stopped, which are not failures
    std::vector<RankEnd> silent;         ///< ranks that did not report an end after another one had failed
    std::vector<RankEnd> waited_for;     ///< the ranks for which the cause's operation waited in vain
    std::string lost_node;               ///< `failed` begins with its ranks; "": no node was lost
    std::string cancelled;               ///< by whom and why, if a scheduler ended all ranks; else ""
    std::string not_started;             ///< why no rank of the job was ever started; "" if some were
    std::vector<std::string> hints;      ///< the usual meaning of the cause's end, and other info about it
    std::string last_lines;              ///< of the cause's log

    const RankEnd* cause() const { return failed.empty() ? nullptr : &failed.front(); }
};

/// Determines what happened. The first failure by time is the cause, with three exceptions. If a worker
/// vanished without a report, mpirun stops the others, so the cause is the vanished rank (the one that mpirun
/// names, those of a lost node, or all vanished ranks). A rank whose log shows that it got SIGTERM comes
/// after those that failed by themselves. If ranks ended together, see put_reporter_first(). Errors come from
/// the ranks' events; of a log only what programs that are not dtrain's print is read.
/// @param ranks one for each rank of the job
/// @param log_tail the end of a rank's log
FailureReport examine(const JobState& job, const Ending& ending, const std::vector<RankInfo>& ranks,
                      const std::function<std::string(int rank)>& log_tail);

/// The report with all secrets hidden.
FailureReport redacted(FailureReport report, const KnownSecrets& secrets);

/// "the program ended with exit code 7".
std::string how_it_ended(const RankEnd& end);

/// For people: the cause with rank, host, how it ended, and its log; the other ranks that failed or were
/// stopped; then Paddle's ABORT line with all failed ranks. "" after success.
std::string report_text(const FailureReport& report);

/// For programs: one JSON object, also after success.
std::string report_json(const FailureReport& report);

/// The last line of the log of a rank that was stopped or ended because of the cause, so that nobody looks
/// for the cause there; nothing for any other rank.
std::optional<std::string> final_lines(const FailureReport& report, const RankEnd& rank);

}  // namespace dtrain::launch
