// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/made_up/forks.hpp"

#include <csignal>

#include "base/text.hpp"
#include "launch/options/worker_options.hpp"

namespace dtrain::tests {
namespace {

/// Starts its arguments $ranks times, passes signals on, and ends all when one was killed.
constexpr auto script = R"(
ranks=$1; shift
pids=()
for ((rank = 0; rank < ranks; ++rank)); do
    DTRAIN_RANK=$rank DTRAIN_SIZE=$ranks DTRAIN_LOCAL_RANK=$rank DTRAIN_LOCAL_SIZE=$ranks "$@" &
    pids+=($!)
done
for signal in ABRT ALRM TERM USR1 USR2; do trap "kill -$signal ${pids[*]} 2>/dev/null" $signal; done
status=0
left=$ranks
while ((left > 0)); do
    ended=
    wait -n -p ended; code=$?
    [ -n "$ended" ] || continue  # a signal has come
    left=$((left - 1))
    ((code == 0)) && continue
    ((status == 0)) && status=$code
    ((code <= 128)) || { echo "forks: process $ended was killed" >&2; kill -TERM "${pids[@]}" 2>/dev/null; }
done
exit $status
)";

class PreparedForks final : public launch::PreparedBackend {
  public:
    std::vector<std::string> command(const launch::BackendCall& call) const override {
        std::vector<std::string> argv{"/bin/bash", "-c", script, "forks", std::to_string(call.plan.size()),
                                      call.worker};
        append(argv, launch::worker_options(call.plan.log_dir, call.options));
        argv.emplace_back("--");
        append(argv, call.plan.program);
        return argv;
    }
};

}  // namespace

std::optional<std::string> Forks::obstacle(const launch::BackendSite& site) const {
    if (site.allocation && site.allocation->nodes.size() > 1) return "forks starts ranks on one node only";
    return std::nullopt;
}

std::unique_ptr<launch::PreparedBackend> Forks::prepare(const launch::BackendSite&) const {
    return std::make_unique<PreparedForks>();
}

std::string Forks::hostfile(const launch::Plan& plan) const {
    return join(plan.hosts(), "\n") + "\n";
}

launch::RankControl Forks::control(const std::string&, const std::string&) const {
    return {.by_lines = false, .death_signal = SIGTERM, .at_once = SIGKILL, .end_remaining = {}};
}

launch::BackendDiagnosis Forks::diagnose(const std::string& messages) const {
    launch::BackendDiagnosis out;
    if (messages.find("forks: cancelled") != std::string::npos) out.cancelled = "forks cancelled the job";
    return out;
}

}  // namespace dtrain::tests
