// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/optimizer.hpp>
#include <dtrain/program.hpp>
#include <dtrain/variable_block.hpp>

namespace dtrain {

struct DistributeTranspilerConfig {
    /// "pserver": parameter servers update. "nccl2" or "collective": there are none, trainers average their
    /// gradients (data_parallel()) over a Communicator, with or without NCCL.
    std::string mode = "pserver";
    /// How, without servers: "grad_allreduce" averages the gradients, "local_sgd" the parameters, every
    /// local_sgd_steps steps (with_local_sgd()); "": the former.
    std::string collective_mode = {};
    std::int64_t local_sgd_steps = 1;
    /// Large parameters are cut into blocks, so that several servers share the work of each.
    bool slice_var_up = true;
    SplitMethod split_method = round_robin;
    /// Elements; 8192 at least: shorter messages use a network badly.
    std::int64_t min_block_size = 8192;
    /// Trainers update parameters of their own, and every geo_sgd_need_push_nums steps send the servers what
    /// has changed in them (ServerMode::geo). Goes with sync_mode = false.
    bool geo_sgd_mode = false;
    std::int64_t geo_sgd_need_push_nums = 100;
};

/// What a job's processes have to say of it. All of them say the same but for trainer_id.
struct TranspileOptions {
    int trainer_id = 0;         ///< of this process if it is a trainer
    std::string pservers = {};  ///< endpoints of all servers: "127.0.0.1:6170,127.0.0.1:6171"
    int trainers = 1;
    /// Modes "nccl2" and "collective", in place of pservers and trainers: endpoints of all trainers, by
    /// trainer_id. The ranks find each other by MPI; these only say how many and who they are.
    std::string trainer_endpoints = {};
    std::string current_endpoint = {};  ///< this trainer's, with trainer_endpoints
    /// True: a server waits for the gradients of all trainers and updates once with their average. False: it
    /// updates with each gradient that comes.
    bool sync_mode = true;
    std::optional<bool> slice_var_up = {};         ///< in place of the config's
    std::optional<SplitMethod> split_method = {};  ///< in place of the config's
    /// A variable with a number for each sample, 1 when it was clicked on and else 0: pushes of rows tell
    /// servers that keep RowStatistics. "": nobody clicks.
    std::string click = {};
};

/// Makes of a training program (minimize() done) what trainers and parameter servers run: the documents'
/// DistributeTranspiler. All of it is pure: the same program and options give every process the same blocks.
class DistributeTranspiler {
  public:
    explicit DistributeTranspiler(DistributeTranspilerConfig config = {});

    /// @throws UsageError when an option is out of range or of another mode, the list of servers (or
    /// trainers) is empty or names one twice, current_endpoint is not that of trainer_id, or the split method
    /// gives a block to no server; ProgramError when the program updates nothing or what it does to a
    /// gradient before the update cannot be done by servers that each have a part of it (clipping by norm;
    /// any clipping of a sparse gradient); ProgramError as with_local_sgd().
    void transpile(const Program& program, const TranspileOptions& options);

    /// The program up to the gradients, then `send` for each gradient, right behind the operator that makes
    /// it, `send_barrier`, which ends the step, and `recv` for each parameter that servers update, with
    /// `fetch_barrier` behind them. Embeddings with sparse gradients become `pull_rows` and `push_rows`. With
    /// sync_mode the loss's own gradient becomes 1/trainers, so that the servers' sums are averages.
    ///
    /// With geo_sgd_mode the program updates as it did, tables by `update_rows`, and ends with
    /// `exchange_changes`.
    ///
    /// In modes "nccl2" and "collective" it is data_parallel() over the trainers, or with collective_mode
    /// "local_sgd" with_local_sgd(): Executor::average_state() then comes before parameters are used.
    Program get_trainer_program() const;

    /// The updates of the blocks on this server. The gradients of the blocks are fed: `BLOCK@grad`, with
    /// sync_mode and several trainers `BLOCK@grad.trainer_0`, ..., which are added in this order. With
    /// geo_sgd_mode what is fed is a trainer's share of its changes, with the sign of a gradient, and the
    /// update is SGD with rate 1.
    /// @throws UsageError naming the known servers when this is none, or the mode that has none
    Program get_pserver_program(const std::string& endpoint) const;

    /// What a server's State begins with: its blocks of parameters and optimizer state, at the values that
    /// the whole variables begin with.
    Program get_startup_program(const std::string& endpoint) const;

    /// Where each block is: the blocks of all updated parameters in the order in which their gradients are
    /// made, with the number of the server among `pservers`.
    struct Placement {
        VariableBlock block = {};
        std::size_t server = 0;
        friend bool operator==(const Placement&, const Placement&) = default;
    };
    const std::vector<Placement>& placements() const& { return placements_; }
    std::vector<Placement> placements() && { return std::move(placements_); }

    /// What transpile() was told.
    const std::vector<std::string>& endpoints() const { return endpoints_; }
    int trainers() const { return trainers_; }
    bool sync_mode() const { return sync_mode_; }
    bool geo_sgd_mode() const { return config_.geo_sgd_mode; }

    /// A parameter with a sparse gradient: all servers have rows of it, each those of its ids. The optimizer
    /// is the servers'.
    struct Table {
        std::string parameter = {};
        std::int64_t rows = 0;   ///< any_id: the most distinct ids; else ids are below it
        std::int64_t width = 0;  ///< floats of a row
        bool any_id = false;     ///< is_distributed
        Initializer initializer = {};
        Optimizer optimizer = {};
        Regularisation regularisation = {};
        /// Variable of the servers' programs that a schedule makes; "": the optimizer's own is used.
        std::string learning_rate = {};
    };
    /// In the order in which their gradients are made.
    const std::vector<Table>& tables() const& { return tables_; }
    std::vector<Table> tables() && { return std::move(tables_); }

    /// With geo_sgd_mode: the same tables, as trainers update their rows; else empty.
    const std::vector<Table>& local_tables() const& { return local_tables_; }
    std::vector<Table> local_tables() && { return std::move(local_tables_); }

  private:
    DistributeTranspilerConfig config_;
    std::vector<std::string> endpoints_;
    int trainers_ = 0;
    bool sync_mode_ = true;
    std::vector<Placement> placements_;
    std::vector<Table> tables_;
    std::vector<Table> local_tables_;
    Program trainer_;
    std::vector<Program> servers_;  ///< one for each endpoint
};

}  // namespace dtrain
