// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/outcome/job_state.hpp"
#include "protocol/event.hpp"
#include "trace/hang_diagnosis.hpp"

namespace dtrain::launch {

/// Exit status of a job that was stopped because it hung; the same as that of timeout(1).
inline constexpr int status_hung = 124;

/// A hang, or ranks that did not start, of which the user was told while the job went on.
struct ReportedHang {
    std::string text;                ///< what was told
    trace::HangDiagnosis diagnosis;  ///< what the ranks' states told
    std::int64_t time_us = 0;        ///< microseconds since 1970
    std::optional<double> seconds;   ///< from then on; none: the job did not go on
};

/// What the ranks' states tell about a hang. Pure.
/// @param hung the last idle event of each rank that ran
/// @param hosts of all ranks, by the plan
trace::HangDiagnosis diagnose(const JobState& job, const std::vector<cluster::Event>& hung,
                              const std::vector<std::string>& hosts);

/// Of a job that waits for ranks to start: those, since when, and what the launch backend says. Pure.
/// @param diagnosis of a job of which no rank is known to hang
/// @param said all that the backend has said
std::string unstarted_warning(const trace::HangDiagnosis& diagnosis, const JobState& job,
                              std::chrono::milliseconds waited, const std::string& backend,
                              const std::string& said);

/// Why a hung job was stopped: the culprit, if one is known. Pure.
/// @param hung the last idle event of each rank that had not ended
std::string hang_reason(const std::vector<cluster::Event>& hung, const trace::HangDiagnosis& diagnosis);

/// The same of a job that goes on. Pure.
std::string hang_warning(const std::vector<cluster::Event>& hung, const trace::HangDiagnosis& diagnosis);

/// The same of a job that is being stopped, which takes long. Pure.
/// @param left ranks that have not ended
std::string slow_stop_warning(const std::vector<cluster::Event>& hung, const trace::HangDiagnosis& diagnosis,
                              const std::vector<int>& left);

/// What shows that it hung: "no rank that was left printed anything or used the processor for 30.0 s". Pure.
std::string hang_sign(const std::vector<cluster::Event>& hung);

/// Where the ranks of a hung job are: one line for all ranks in the same place, in the order in which they
/// became idle. Tells since when (local time), in what, and where the stacks are. Pure except for the time
/// zone.
/// @param stacks_of the file of a rank's stacks, with its node if that is another one
std::vector<std::string> hang_locations(const std::vector<cluster::Event>& hung,
                                        const std::function<std::string(int)>& stacks_of);

/// A line about the ranks that were done by then: others often wait for one that ended too early. Pure except
/// for the time zone.
/// @param done the end events of these ranks
std::optional<std::string> done_before(const std::vector<cluster::Event>& done);

}  // namespace dtrain::launch
