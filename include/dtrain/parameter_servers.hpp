// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/checkpoint.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/device.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/row_rules.hpp>
#include <dtrain/server_mode.hpp>
#include <dtrain/transpiler.hpp>

namespace dtrain {

/// The two kinds of ranks of a job with parameter servers: ranks 0 to servers - 1 are servers, the others are
/// trainers. A value type; copies share their resources.
class ServerRanks {
  public:
    /// Collective over `world`, which is a communicator over MPI or a world of one rank.
    /// @throws UsageError on all ranks if servers is below 1, or if no rank is left as a trainer
    ServerRanks(const Communicator& world, int servers);

    /// Whether this rank is a server.
    bool serves() const { return world_rank_ < servers_; }
    /// Index of this rank among the ranks of its kind: the server's number, or trainer_id.
    int number() const { return serves() ? world_rank_ : world_rank_ - servers_; }
    /// Number of servers.
    int servers() const { return servers_; }
    /// Number of trainers.
    int trainers() const { return world_size_ - servers_; }

    /// The ranks of the same kind, in number order.
    const Communicator& peers() const { return peers_; }

    /// Number of CPU cores of this rank: those that it may run on, divided by the number of ranks on its host
    /// that may run on any of them too. At least 1.
    int processors() const { return processors_; }

    /// Names of the servers, in the form that TranspileOptions::pservers and get_pserver_program() take; they
    /// consist of the host and, in place of a port, the rank + 1.
    const std::string& pservers() const { return pservers_; }

  private:
    friend class ServerConnection;
    friend class ParameterServer;
    struct Transport;

    int world_rank_;
    int world_size_;
    int servers_;
    int processors_;
    Communicator peers_;
    std::string pservers_;
    std::shared_ptr<Transport> transport_;
};

/// Where and how often each server reports its contents and usage: appends a line to server-N.jsonl, rewrites
/// server-N.prom for the textfile collector of Prometheus' node_exporter, does both once more when it ends,
/// and serves the same to Prometheus directly. The Prometheus outputs need prometheus-cpp.
struct ServerMetricsOptions {
    std::filesystem::path folder = {};       ///< created if missing; empty: no files
    std::chrono::milliseconds every{10000};  ///< time between two reports
    /// "9400": server N serves http://127.0.0.1:PORT/metrics at port 9400 + N, reachable only from its own
    /// machine; "0.0.0.0:9400": reachable from other machines too, without a password; 0: any free port,
    /// which is reported on stderr. Empty: no HTTP endpoint.
    std::string port = {};
};

/// Equal on all ranks, except for options that concern a single server.
struct ServerJobOptions {
    /// sync requires TranspileOptions::sync_mode, the other modes require it to be off; geo requires
    /// DistributeTranspilerConfig::geo_sgd_mode.
    ServerMode mode = ServerMode::sync;
    /// half_async: maximum number of steps that a trainer may be ahead of the slowest one.
    std::int64_t staleness = 0;
    /// async: maximum number of steps whose gradients are merged while the servers are busy with earlier
    /// ones. The dense parameters at the start of a step lack fewer than this many of the trainer's own
    /// steps. Larger values are faster where answers take long, and less stable: see docs/servers.md.
    int most_merged = 1;
    /// Any type but float32 halves the bytes; in sync mode the result is then no longer bitwise identical to
    /// that of one process.
    WireType wire = WireType::float32;
    std::uint64_t seed = 0;  ///< of the initial parameters and rows
    int threads = 0;         ///< of servers, as ExecutorOptions::threads
    /// The device on which servers update their blocks of dense parameters; tables are always on the CPU, and
    /// DTRAIN_DEVICE is ignored here. A GPU without a number is that of FLAGS_selected_gpus, which
    /// dtrain-launch --server_device gpu sets; without it the GPU whose number is the server's number among
    /// those on its node, or the only GPU. Each update copies gradients to the device and new values back,
    /// see docs/gpu.md.
    Device device = Device::cpu();
    /// Number of threads with which a server processes large batches of its tables' rows; the result is
    /// bitwise identical to that of one thread. 0: ServerRanks::processors() of its rank, at most 8.
    int table_threads = 0;
    /// Maximum number of table rows in a message to or from a trainer. Larger batches are split into several
    /// messages, so that server and trainer work at the same time; results are unaffected, in sync mode bit
    /// for bit. 0: as many rows as fit 256 KiB, or 2048. Ignored by servers.
    int message_rows = 0;

    /// Bytes of memory for the tables of a server, distributed over them in proportion to their row sizes;
    /// rows that were not used recently are moved to a local disk. None: all rows are in memory. Requires
    /// dtrain built with RocksDB.
    std::optional<std::int64_t> memory = {};
    /// Folder for those rows, on a disk of the server's machine; each server creates a subfolder there, which
    /// is removed at the end. Empty: $TMPDIR, or /tmp.
    std::filesystem::path spill = {};

    RowRules rows = {};                            ///< of all tables except those in `rows_of`
    std::map<std::string, RowRules> rows_of = {};  ///< by the table's parameter name
    /// True: gradients with NaN or infinity are counted and not applied. For rows this concerns the single
    /// row; for dense parameters all gradients that a trainer has for this server in a step, which then count
    /// as zeros. False: they are applied.
    bool reject_not_finite = false;

    std::optional<ServerMetricsOptions> metrics = {};  ///< of servers; none: no metrics
};

/// A job with parameter servers, for ModelOptions::servers: how they are started and synchronised, and what
/// they keep. Equal on all ranks.
struct ParameterServers {
    /// How many of the ranks are servers, the first ones. None: as many as dtrain-launch --server_num has
    /// started.
    std::optional<int> count = {};
    ServerMode mode = ServerMode::sync;                ///< how trainers are synchronised
    std::int64_t staleness = 0;                        ///< see ServerJobOptions::staleness
    int most_merged = 1;                               ///< see ServerJobOptions::most_merged
    std::int64_t push_every = 100;                     ///< geo: steps between two messages of a trainer
    WireType wire = WireType::float32;                 ///< see ServerJobOptions::wire
    bool slice = true;                                 ///< see DistributeTranspilerConfig::slice_var_up
    SplitMethod split_method = round_robin;            ///< which server gets which block
    std::int64_t min_block_size = 8192;                ///< see DistributeTranspilerConfig::min_block_size
    Device device = Device::cpu();                     ///< of servers, see ServerJobOptions::device
    std::optional<int> threads = {};                   ///< see ServerJobOptions::table_threads
    std::optional<std::int64_t> memory = {};           ///< see ServerJobOptions::memory
    std::filesystem::path spill = {};                  ///< see ServerJobOptions::spill
    RowRules rows = {};                                ///< of all tables
    std::string click = {};                            ///< see TranspileOptions::click
    bool reject_not_finite = false;                    ///< see ServerJobOptions::reject_not_finite
    std::optional<ServerMetricsOptions> metrics = {};  ///< see ServerJobOptions::metrics
};

/// What servers hold and have done. Counts of rows continue from a checkpoint.
struct ServerCounts {
    std::uint64_t rows = 0;            ///< currently in all tables
    std::uint64_t bytes = 0;           ///< of memory used by all tables
    std::uint64_t inserted = 0;        ///< rows inserted
    std::uint64_t evicted = 0;         ///< rows removed by shrinking
    std::uint64_t dropped = 0;         ///< gradients for ids that were not admitted
    std::uint64_t rejected = 0;        ///< gradients of rows that were not finite
    std::uint64_t dense_rejected = 0;  ///< dense gradients, one per trainer step and server, since its start
};

/// A server: it updates its part of the parameters with the gradients that trainers push.
class ParameterServer {
  public:
    /// Starts with the initial parameters. @throws UsageError if options and transpiler do not match, this
    /// rank is not a server, the memory limit is too small or the spill folder is not writable
    ParameterServer(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                    const ServerJobOptions& options);
    ParameterServer(ParameterServer&&) noexcept;
    ParameterServer& operator=(ParameterServer&&) noexcept;
    ~ParameterServer();

    /// Loads what a ServerConnection saved into this folder, and into the folders beside it that the save
    /// depends on; the number of servers may differ from that of the save. Call before run(). Not collective:
    /// if one server throws, no server may run with what others have loaded.
    /// @throws UsageError naming the file that is missing, damaged or from another model; the parameters are
    /// then the initial ones, or those of an earlier load()
    void load(const std::filesystem::path& folder);

    /// Checks what all servers have loaded together: a table that accepts any id must not have more rows than
    /// the program allows. Called by all servers. @throws Error on all of them, with both numbers
    void check_rows() const;

    /// Serves until all trainers have left. Uses little CPU time while no messages arrive.
    /// @throws MpiError; Error if a trainer has ended without ServerConnection::leave()
    void run();

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

/// Runs a ParameterServer with the initial parameters.
void serve(const ServerRanks& ranks, const DistributeTranspiler& transpiler, const ServerJobOptions& options);

/// Which rows ServerConnection::begin_save() saves. The dense part is always saved completely.
struct SavedRows {
    /// Saves only rows that changed since the last of these saves, which must be the most recent completed
    /// save and must have been made with changes_follow: names of sibling folders of this save, of which the
    /// first has all rows and each further one the changes since the one before. Empty: saves all rows.
    std::vector<std::string> since = {};
    /// A save of the changes since this one will follow: servers track which rows change.
    bool changes_follow = false;
};

/// A batch of ids to look up in a table.
struct Lookup {
    std::string table;                  ///< "user.weight"
    std::span<const std::int64_t> ids;  ///< may repeat
};

/// A trainer's connection to the servers. Not copyable; must outlive the executors that use it.
class ServerConnection {
  public:
    /// Waits for the servers. All trainers of the job construct one.
    /// @throws UsageError if options and transpiler do not match, or this rank is not a trainer; Error if a
    /// server was started with another program; CommunicatorTimeout if a server does not answer
    ServerConnection(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                     const ServerJobOptions& options);
    ServerConnection(const ServerConnection&) = delete;
    ServerConnection& operator=(const ServerConnection&) = delete;
    ~ServerConnection();

    /// How this connection is synchronised.
    ServerMode mode() const;

    /// For ExecutorOptions::servers of get_trainer_program() and of programs that for_test() derives from it.
    std::shared_ptr<detail::ServerLink> link() const;

    /// Sets the dense parameters to those of the servers: call it before the first step, so that all trainers
    /// start with the same parameters, and before a test in the asynchronous modes.
    void pull_parameters(const State& state) const;

    /// Requests the rows of the next batch while the current step is running. In sync mode they include the
    /// updates of the current step.
    /// @throws ProgramError if there is no such table
    void prefetch(const std::string& table, std::span<const std::int64_t> ids) const;

    /// The same for several lookups at once, which need fewer messages.
    void prefetch(std::span<const Lookup> lookups) const;

    /// Replaces a step that other trainers make and this one does not, because it has fewer batches and will
    /// continue later; a trainer without any batches left calls leave() instead. In sync mode its gradients
    /// of the step are zeros; in half_async mode the others do not wait for it; in both modes the dense
    /// parameters become those after the step. In async and geo mode trainers do not count the steps of
    /// others, so the call does nothing. Waits as a step does.
    void skip_step(const State& state) const;

    /// Waits until everything that this trainer has pushed (in geo mode: everything that it has changed) has
    /// been applied to the parameters.
    void finish() const;

    /// Makes every server write its contents into an existing folder that all of them can access: blocks of
    /// parameters and optimizer state, rows of tables. Returns once the contents are fixed: later pushes are
    /// not included. All trainers must have called finish(), and none may push before it returns, so that all
    /// servers are at the same step. Called by one trainer, and not again before finish_save(). @throws Error
    /// if a server cannot save; finish_save() must not be called then
    void begin_save(const std::filesystem::path& folder, const SavedRows& rows = {}) const;

    /// Whether all servers have finished writing, so that finish_save() would not wait. This is checked while
    /// this trainer trains.
    bool is_saved() const;

    /// Waits until all servers have finished writing.
    /// @return a function that writes the manifest with checksums of all files in the folder, which makes the
    /// folder loadable; it throws Error if that fails and may be called from any thread. @throws Error if a
    /// server could not write
    std::function<void()> finish_save() const;

    /// begin_save() and finish_save() together; training waits.
    void save(const std::filesystem::path& folder) const;

    /// Tells all servers the current day: rows that are pulled or pushed from now on are marked with it. With
    /// `shrinks`, before the day changes, shows and clicks decay in tables with RowStatistics, rows are
    /// removed whose score is too low or that were unused for too long, and counts of ids that wait for
    /// admission are halved. Whether concurrent pulls and pushes come before or after it is decided by each
    /// server separately: to have it defined, let no trainer pull or push meanwhile, as with save(). Called
    /// by one trainer.
    /// @returns the number of removed rows
    std::uint64_t begin_day(std::uint32_t day, bool shrinks) const;

    /// Sums over all servers.
    ServerCounts counts() const;

    /// Geo mode: the optimizer state of the rows that this trainer has looked up, and its number of steps, in
    /// the form of Checkpoint::optimizer; each trainer has its own. Empty in the other modes, where the
    /// servers keep it, and if no optimizer of rows has state. Call it after this trainer's finish().
    Checkpoint trainer_rows() const;

    /// Restores what trainer_rows() returned, before the first step. @throws UsageError if it belongs to
    /// other tables
    void restore_trainer_rows(const Checkpoint& rows) const;

    /// Tells the servers that this trainer is done. The others continue without it: in sync mode its
    /// gradients are zeros from then on. A trainer that ends without leave() ends the job: three seconds
    /// later the servers, and trainers that wait for them, throw an Error that names it.
    void leave();

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
