// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/mpirun/mpirun_backend.hpp"

#include <csignal>

#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/backend/mpirun/mpirun_messages.hpp"
#include "launch/backend/mpirun/mpirun_probe.hpp"

namespace dtrain::launch {
namespace {

class PreparedMpirun final : public PreparedBackend {
  public:
    explicit PreparedMpirun(const Environment& environment) : probe_(environment) {}

    void finish() override { version_ = probe_.open_mpi(); }

    std::vector<std::string> command(const BackendCall& call) const override {
        return mpirun_command(call.plan, call.hostfile,
                              {.worker = call.worker, .remote_shell = call.remote_shell}, call.options,
                              call.carried, version_);
    }

    bool mixes_streams() const override { return launch::mixes_streams(version_); }

  private:
    MpirunProbe probe_;
    MpirunVersion version_;
};

}  // namespace

std::unique_ptr<PreparedBackend> MpirunBackend::prepare(const BackendSite& site) const {
    return std::make_unique<PreparedMpirun>(site.environment);
}

std::vector<std::string> MpirunBackend::node_names(const Plan& plan) const {
    return mpirun_names(plan);
}

std::string MpirunBackend::hostfile(const Plan& plan) const {
    return mpirun_hostfile(plan);
}

RankControl MpirunBackend::control(const std::string&, const std::string&) const {
    return {.by_lines = false, .death_signal = SIGTERM, .at_once = SIGKILL, .end_remaining = {}};
}

BackendDiagnosis MpirunBackend::diagnose(const std::string& messages) const {
    BackendDiagnosis out{.lost_node = node_lost_by_mpirun(messages).value_or(""),
                         .died = {},
                         .left_mpi = rank_that_left_mpi(messages),
                         .not_started = start_refused_by_shell(messages),
                         .cancelled = {}};
    constexpr int max_ranks = 1 << 20;  // what looks like a message of mpirun may be a program's
    if (const auto rank = rank_named_by_mpirun(messages); rank && *rank >= 0 && *rank < max_ranks)
        out.died = cluster::RankList::parse(std::to_string(*rank));
    return out;
}

}  // namespace dtrain::launch
