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

/// How a program is split.
struct DistributeTranspilerConfig {
    /// "pserver": parameter servers apply the updates. "nccl2" or "collective": there are no servers;
    /// trainers average their gradients (data_parallel()) over a Communicator, with or without NCCL.
    std::string mode = "pserver";
    /// Without servers, what is averaged: "grad_allreduce" averages the gradients, "local_sgd" the parameters
    /// every local_sgd_steps steps (with_local_sgd()). "" is "grad_allreduce".
    std::string collective_mode = {};
    std::int64_t local_sgd_steps = 1;  ///< with "local_sgd": steps between two averages
    /// Cut large parameters into blocks so that several servers share the work for each of them.
    bool slice_var_up = true;
    SplitMethod split_method = round_robin;  ///< which server gets which block
    /// In elements; at least 8192, because shorter messages use the network inefficiently.
    std::int64_t min_block_size = 8192;
    /// Trainers update their own parameters and send the servers the changes every geo_sgd_need_push_nums
    /// steps (ServerMode::geo). Requires sync_mode = false.
    bool geo_sgd_mode = false;
    std::int64_t geo_sgd_need_push_nums = 100;  ///< with geo_sgd_mode: steps between two messages
};

/// What each process of a job passes to transpile(). Equal on all processes except for trainer_id.
struct TranspileOptions {
    int trainer_id = 0;         ///< of this process, if it is a trainer
    std::string pservers = {};  ///< endpoints of all servers, "127.0.0.1:6170,127.0.0.1:6171"
    int trainers = 1;           ///< number of trainers
    /// Modes "nccl2" and "collective", instead of pservers and trainers: endpoints of all trainers, by
    /// trainer_id. The ranks find each other through MPI; the endpoints only define the number and order of
    /// trainers.
    std::string trainer_endpoints = {};
    std::string current_endpoint = {};  ///< this trainer's endpoint, with trainer_endpoints
    /// True: a server waits for the gradients of all trainers and updates once with their average. False: it
    /// updates with each gradient as it arrives.
    bool sync_mode = true;
    std::optional<bool> slice_var_up = {};         ///< overrides the config's value
    std::optional<SplitMethod> split_method = {};  ///< overrides the config's value
    /// A variable with one value per sample, 1 if it was clicked and otherwise 0: pushes of rows report it to
    /// servers that keep RowStatistics. "": no clicks.
    std::string click = {};
};

/// Splits a training program (after minimize()) into the programs that trainers and parameter servers run:
/// Paddle's DistributeTranspiler. It is purely functional: the same program and options give every process
/// the same blocks.
class DistributeTranspiler {
  public:
    /// @param config how programs are split
    explicit DistributeTranspiler(DistributeTranspilerConfig config = {});

    /// @throws UsageError if an option is out of range or belongs to another mode, the list of servers (or
    /// trainers) is empty or names one twice, current_endpoint is not that of trainer_id, or the split method
    /// assigns a block to no server; ProgramError if the program updates nothing, or if what it does to a
    /// gradient before the update cannot be done by servers that each have a part of it (clipping by norm;
    /// any clipping of a sparse gradient); ProgramError as with_local_sgd().
    void transpile(const Program& program, const TranspileOptions& options);

    /// The program up to the gradients, with `send` for each gradient directly after the operator that
    /// computes it, `send_barrier`, which ends the step, and `recv` for each parameter that servers update,
    /// followed by `fetch_barrier`. Embeddings with sparse gradients become `pull_rows` and `push_rows`. With
    /// sync_mode the gradient of the loss itself becomes 1/trainers, so that the servers' sums are averages.
    ///
    /// With geo_sgd_mode the program keeps its updates, updates tables with `update_rows`, and ends with
    /// `exchange_changes`.
    ///
    /// In modes "nccl2" and "collective" it is data_parallel() over the trainers, or with_local_sgd() if
    /// collective_mode is "local_sgd": call Executor::average_state() before the parameters are used.
    Program get_trainer_program() const;

    /// The updates of the blocks on this server. The gradients of the blocks are fed as `BLOCK@grad`; with
    /// sync_mode and several trainers as `BLOCK@grad.trainer_0`, ..., which are added in this order. With
    /// geo_sgd_mode the fed value is a trainer's fraction of its changes, with the sign of a gradient, and
    /// the update is SGD with rate 1.
    /// @throws UsageError if `endpoint` is not a known server (the message names the known ones), or if the
    /// mode has no servers
    Program get_pserver_program(const std::string& endpoint) const;

    /// The initial State of a server: its blocks of parameters and optimizer state, at the initial values of
    /// the whole variables.
    Program get_startup_program(const std::string& endpoint) const;

    /// The server of each block: the blocks of all updated parameters, in the order in which their gradients
    /// are computed, with the index of the server in `pservers`.
    struct Placement {
        VariableBlock block = {};  ///< part of a parameter
        std::size_t server = 0;    ///< index in `pservers`
        friend bool operator==(const Placement&, const Placement&) = default;
    };
    /// See Placement.
    const std::vector<Placement>& placements() const& { return placements_; }
    /// See Placement.
    std::vector<Placement> placements() && { return std::move(placements_); }

    /// The options passed to transpile().
    const std::vector<std::string>& endpoints() const { return endpoints_; }
    /// Number of trainers.
    int trainers() const { return trainers_; }
    /// TranspileOptions::sync_mode
    bool sync_mode() const { return sync_mode_; }
    /// DistributeTranspilerConfig::geo_sgd_mode
    bool geo_sgd_mode() const { return config_.geo_sgd_mode; }

    /// A parameter with a sparse gradient: its rows are distributed over all servers by id. The servers run
    /// its optimizer.
    struct Table {
        std::string parameter = {};    ///< its name
        std::int64_t rows = 0;         ///< any_id: maximum number of distinct ids; otherwise ids are below it
        std::int64_t width = 0;        ///< floats per row
        bool any_id = false;           ///< EmbeddingOptions::is_distributed
        Initializer initializer = {};  ///< of the rows
        Optimizer optimizer = {};      ///< by which rows are updated
        Regularisation regularisation = {};  ///< added to the gradients of the rows
        /// Variable of the servers' programs that a schedule computes; "": the optimizer's own rate is used.
        std::string learning_rate = {};
    };
    /// In the order in which their gradients are computed.
    const std::vector<Table>& tables() const& { return tables_; }
    /// As the other tables().
    std::vector<Table> tables() && { return std::move(tables_); }

    /// With geo_sgd_mode: the same tables, with the optimizers by which trainers update their rows; otherwise
    /// empty.
    const std::vector<Table>& local_tables() const& { return local_tables_; }
    /// As the other local_tables().
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
