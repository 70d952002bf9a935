// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/servers.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/host.hpp"
#include "base/log.hpp"
#include "comm/failure/leaving.hpp"
#include "model/resume_servers.hpp"
#include "model/server_checkpointer.hpp"
#include "ps/job/layout.hpp"
#include "ps/job/server_count.hpp"
#include "ps/job/split_job.hpp"

namespace dtrain::model {
namespace {

// What trainers tell waiting servers.
constexpr const char* load_word = "load";
constexpr const char* start_word = "start";
constexpr const char* end_word = "end";

ServerRanks ranks_of(const ModelOptions& options) {
    const auto& world = options.communicator;
    const auto of_launcher = ps::servers_of_launcher(Environment::of_this_process(), world);
    return {world, ps::server_count(*options.servers, of_launcher, world.size())};
}

}  // namespace

void check_servers(const ModelOptions& options) {
    const auto refuse = [](const char* option, const char* why) {
        throw UsageError(fmt::format(
            "ModelOptions::{} and ModelOptions::servers exclude each other: {}; leave one out", option, why));
    };
    if (options.virtual_ranks != 0) refuse("virtual_ranks", "servers add the gradients");
    if (options.local_sgd != 0) refuse("local_sgd", "servers add the gradients");
    if (options.nccl) refuse("nccl", "servers add the gradients");
    if (options.products == ComputeType::float16)
        refuse("products of float16", "they scale the loss and leave out steps, which servers do not");
    const auto mode = options.servers->mode;
    if (mode < ServerMode::sync || mode > ServerMode::geo)
        throw UsageError(fmt::format(
            "ParameterServers::mode is {}; it is one of sync, async, half_async and geo of ServerMode",
            static_cast<int>(mode)));
}

Servers::Servers(const ModelOptions& options)
    : settings_(*options.servers),
      world_(options.communicator),
      ranks_(ranks_of(options)),
      seed_(options.seed),
      threads_(options.threads),
      exceptions_(std::uncaught_exceptions()) {}

Servers::~Servers() {
    if (serves() || !split_ || is_over_) return;
    const bool unwinds = std::uncaught_exceptions() > exceptions_;
    const bool is_agreed =
        comm::failure_is_agreed_by(ranks_.trainers()) || comm::failure_is_agreed_by(world_.size());
    if (comm::is_broken() || (unwinds && !is_agreed)) return;
    try {
        if (connection_)
            connection_->leave();
        else
            world_.broadcast(end_word, first_trainer());
        if (unwinds) comm::note_agreed_failure(world_.size());
    } catch (const std::exception& failed) {
        log_error("the parameter servers could not be told that this trainer has ended: {}", failed.what());
    }
}

void Servers::prepare(const Program& training, std::map<std::string, std::string> job) {
    if (have_started())
        throw UsageError(
            "prepare(): the model's parameter servers already run what an earlier prepare() has given them; "
            "make another Model");
    auto split = ps::split(settings_, ranks_, training);
    ps::check(ps::job_options(settings_, seed_, threads_), split);
    split_ = std::move(split);
    job_ = std::move(job);
}

Program Servers::trainer_program(const Program& training) const {
    return ps::split(settings_, ranks_, training).get_trainer_program();
}

void Servers::serve() {
    if (std::exchange(is_over_, true)) return;
    std::optional<ParameterServer> server;
    for (std::string word; word != start_word;) {
        word = world_.broadcast(std::string(), first_trainer());
        if (word == end_word) return;
        const auto refused = checkpoint::refusal_of([&] {
            if (!server) server.emplace(ranks_, *split_, ps::job_options(settings_, seed_, threads_));
        });
        throw_together(world_, refused ? std::optional(fmt::format("{} (rank {} on {})", *refused,
                                                                   world_.rank(), host_name()))
                                       : std::nullopt);
        if (word != load_word) continue;
        // Trainers report it; some servers may have loaded their part.
        if (checkpoint::refusal_of([&] { resume_servers(ranks_, world_, {}, &*server, {}, {}, "program"); }))
            server.reset();
    }
    server->run();
}

void Servers::command(const std::string& word) {
    world_.broadcast(word, first_trainer());
    is_over_ = true;
    throw_together(world_, std::nullopt);
    is_over_ = false;
}

const ServerConnection& Servers::connect(const State& state) {
    if (connection_) return *connection_;
    command(start_word);
    connection_ =
        std::make_unique<ServerConnection>(ranks_, *split_, ps::job_options(settings_, seed_, threads_));
    connection_->pull_parameters(state);
    return *connection_;
}

std::optional<checkpoint::Restored> Servers::load(const std::vector<std::filesystem::path>& candidates,
                                                  const std::function<void(const std::string&)>& warn) {
    if (connection_)
        throw UsageError(
            "load(): parameter servers load a checkpoint before the first fit(), evaluate(), predict() or "
            "save(), and they already run");
    if (peers().max(static_cast<std::int64_t>(candidates.size())) == 0) return std::nullopt;
    command(load_word);
    return resume_servers(ranks_, world_, candidates, nullptr, job_, warn, "program");
}

void Servers::synchronize(const State& state) const {
    if (settings_.mode == ServerMode::sync) return;
    connection_->finish();
    peers().barrier();
    connection_->pull_parameters(state);
    peers().barrier();
}

void Servers::save(const std::filesystem::path& path, const State& state,
                   const StateCheckpoint& position) const {
    ServerCheckpointer({.dir = {}, .files = {.async = false}}, *connection_, state, peers(), [&] {
        synchronize(state);
    }).start_as(path, position);
}

}  // namespace dtrain::model
