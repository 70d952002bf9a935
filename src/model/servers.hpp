// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/model.hpp>
#include <dtrain/parameter_servers.hpp>

#include "checkpoint/state_checkpoint.hpp"

namespace dtrain::model {

/// @throws UsageError if an option excludes parameter servers
void check_servers(const ModelOptions& options);

/// The parameter servers of a Model, as each of its ranks sees them. Between prepare() and the first step the
/// servers wait for what the trainers want: to load a checkpoint, to start, or to end.
class Servers {
  public:
    /// Collective over the ranks of the job. @throws UsageError on all ranks if the number of servers is
    /// unknown or leaves no trainer
    explicit Servers(const ModelOptions& options);
    Servers(const Servers&) = delete;
    Servers& operator=(const Servers&) = delete;
    /// Trainers leave. If an exception is unwinding the stack that not all trainers have, the job fails.
    ~Servers();

    bool serves() const { return ranks_.serves(); }
    const Communicator& world() const { return world_; }
    const Communicator& peers() const { return ranks_.peers(); }
    /// Whether they run, or have ended.
    bool have_started() const { return connection_ || is_over_; }
    int first_trainer() const { return ranks_.servers(); }

    /// @param training after minimize() @param job see CheckpointHeader::job
    /// @throws ProgramError if servers cannot train it; UsageError if the settings do not fit, or servers
    /// already run another program
    void prepare(const Program& training, std::map<std::string, std::string> job);

    /// What trainers run. @param training as that of prepare(), for any batch size
    Program trainer_program(const Program& training) const;

    /// On a server: serves until all trainers have left. Called by all servers.
    /// @throws UsageError on all ranks of the job if a server cannot start; as ParameterServer::run()
    void serve();

    /// The connection of this trainer. The first call starts the servers and sets the parameters to theirs;
    /// it is collective over the trainers. @throws as serve() and ServerConnection
    const ServerConnection& connect(const State& state);

    /// Before the first connect(): makes the servers load the first of the checkpoints that can be read.
    /// Collective over the trainers.
    /// @param candidates the first trainer's are used; empty: nothing is loaded
    /// @throws UsageError on all trainers if none can be read, it is of another job, or servers already run
    std::optional<checkpoint::Restored> load(const std::vector<std::filesystem::path>& candidates,
                                             const std::function<void(const std::string&)>& warn);

    /// In asynchronous modes: waits for the pushes of all trainers, then pulls the resulting parameters.
    /// Collective over the trainers.
    void synchronize(const State& state) const;

    /// After connect(). Collective over the trainers. @throws Error on all trainers if it cannot be written
    void save(const std::filesystem::path& path, const State& state, const StateCheckpoint& position) const;

  private:
    void command(const std::string& word);

    ParameterServers settings_;
    Communicator world_;
    ServerRanks ranks_;
    std::uint64_t seed_;
    int threads_;
    int exceptions_;
    std::map<std::string, std::string> job_;
    std::optional<DistributeTranspiler> split_;
    std::unique_ptr<ServerConnection> connection_;
    bool is_over_ = false;
};

}  // namespace dtrain::model
