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

namespace comm {
class Transport;
}

/// The two kinds of ranks of a job with parameter servers: ranks 0 to servers - 1 serve, the others train.
/// A value; copies share what they stand on.
class ServerRanks {
  public:
    /// Collective over `world`, which is over MPI or a world of one.
    /// @throws UsageError on all ranks when servers is below 1, or no rank is left that trains
    ServerRanks(const Communicator& world, int servers);

    bool serves() const { return world_rank_ < servers_; }
    /// Of this rank among its kind: the server's number, or trainer_id.
    int number() const { return serves() ? world_rank_ : world_rank_ - servers_; }
    int servers() const { return servers_; }
    int trainers() const { return world_size_ - servers_; }

    /// The ranks of the same kind, in the order of their numbers.
    const Communicator& peers() const { return peers_; }

    /// How many processors are this rank's own: those that it may run on, divided by the ranks of its host
    /// that may run on one of them, too. At least 1.
    int processors() const { return processors_; }

    /// Names of the servers, as TranspileOptions::pservers and get_pserver_program() take them; they say the
    /// host and, where others have a port, the rank + 1.
    const std::string& pservers() const { return pservers_; }

  private:
    friend class ServerConnection;
    friend class ParameterServer;

    int world_rank_;
    int world_size_;
    int servers_;
    int processors_;
    Communicator peers_;
    std::string pservers_;
    std::shared_ptr<comm::Transport> transport_;
};

/// Where and how often each server tells what it has and how it is used: a line more of server-N.jsonl, and
/// server-N.prom anew, for the textfile collector of Prometheus' node_exporter, once more at its end; and to
/// Prometheus itself. What is for Prometheus needs prometheus-cpp.
struct ServerMetricsOptions {
    std::filesystem::path folder = {};  ///< is made; empty: no files
    std::chrono::milliseconds every{10'000};
    /// "9400": server N serves http://127.0.0.1:PORT/metrics at port 9400 + N, to its machine alone;
    /// "0.0.0.0:9400": to others, too, and nobody is asked for a password; 0: any free port, which it tells
    /// on stderr. Empty: nowhere.
    std::string port = {};
};

/// The same on all ranks, but what is of one server alone.
struct ServerJobOptions {
    /// sync goes with TranspileOptions::sync_mode, the others without it; geo with
    /// DistributeTranspilerConfig::geo_sgd_mode.
    ServerMode mode = ServerMode::sync;
    /// half_async: steps that a trainer may be ahead of the slowest one.
    std::int64_t staleness = 0;
    /// async: the dense parameters that a step begins with lack fewer than this many of the trainer's own
    /// steps, and gradients of so many are added up while the servers are busy with earlier ones. More is
    /// faster where answers take long, and less stable: see docs/servers.md.
    int most_merged = 1;
    /// Not float32: half the bytes, and in sync mode no longer the bits of one process.
    WireType wire = WireType::float32;
    std::uint64_t seed = 0;  ///< of the first parameters and rows
    int threads = 0;         ///< as ExecutorOptions::threads, of servers
    /// What servers update their blocks of dense parameters on; tables are on the CPU in any case, and
    /// DTRAIN_DEVICE says nothing here. On a GPU without a number: that of FLAGS_selected_gpus, which
    /// dtrain-launch --server_device gpu sets; without it the one with the server's number among those of
    /// its node, or the only one. Each update copies gradients there and new values back, see docs/gpu.md.
    Device device = Device::cpu();
    /// Threads of a server that share large batches of its tables' rows, with the bits of one. 0: as many as
    /// ServerRanks::processors() of its rank, 8 at most.
    int table_threads = 0;
    /// Rows of a table that a message of a trainer or to it has, at most. Larger batches go in several, so
    /// that server and trainer work at the same time; nothing else changes by it, not a bit in sync mode. 0:
    /// as many as have 256 KiB, or 2048. Servers do not look at it.
    int message_rows = 0;

    /// Bytes of memory for the tables of a server, dealt out to them in proportion to the size of their rows;
    /// rows that were not used lately are on a local disk then. None: all rows are in memory. Needs a dtrain
    /// that was built with RocksDB.
    std::optional<std::int64_t> memory = {};
    /// Where those rows go, on a disk of the server's machine: into a folder of their own, which is removed
    /// at the end. Empty: $TMPDIR, or /tmp.
    std::filesystem::path spill = {};

    RowRules rows = {};                            ///< of all tables but these:
    std::map<std::string, RowRules> rows_of = {};  ///< by the table's parameter
    /// Gradients with NaN or infinity are counted, and not applied: of a row, that row's; of dense
    /// parameters, all that a trainer has for this server in a step, which count as zeros. Else they are
    /// applied.
    bool reject_not_finite = false;

    std::optional<ServerMetricsOptions> metrics = {};  ///< of servers; none: they tell nothing
};

/// What servers have and have done. Counts of rows go on from a checkpoint.
struct ServerCounts {
    std::uint64_t rows = 0;            ///< in all tables, now
    std::uint64_t bytes = 0;           ///< of memory, of all tables
    std::uint64_t inserted = 0;        ///< rows
    std::uint64_t evicted = 0;         ///< rows that shrinking took away
    std::uint64_t dropped = 0;         ///< gradients for ids that were not admitted
    std::uint64_t rejected = 0;        ///< gradients of rows that were not finite
    std::uint64_t dense_rejected = 0;  ///< dense gradients of a trainer's step on one server, since it began
};

/// A server: its part of the parameters is updated with what trainers push.
class ParameterServer {
  public:
    /// With the first parameters. @throws UsageError when options and transpiler do not fit, this rank is no
    /// server, the limit of memory is too small or nothing can be written where rows go
    ParameterServer(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                    const ServerJobOptions& options);
    ParameterServer(ParameterServer&&) noexcept;
    ParameterServer& operator=(ParameterServer&&) noexcept;
    ~ParameterServer();

    /// Goes on from what a ServerConnection saved into this folder, and into those beside it that it needs,
    /// with any number of servers. Before run(). Not collective: when one server throws, no server may run
    /// with what others have loaded.
    /// @throws UsageError naming the file that is missing, damaged or of another model; the parameters are
    /// the first ones then, or those of an earlier load()
    void load(const std::filesystem::path& folder);

    /// Whether what all servers have loaded together fits: a table that takes any id has no more rows than
    /// the program says. All servers call it. @throws Error on all of them, with both numbers
    void check_rows() const;

    /// Serves until all trainers have left. Waits without using much of a processor while nothing comes.
    /// @throws MpiError; Error when a trainer has ended without ServerConnection::leave()
    void run();

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

/// A ParameterServer with the first parameters, run.
void serve(const ServerRanks& ranks, const DistributeTranspiler& transpiler, const ServerJobOptions& options);

/// What of the rows ServerConnection::begin_save() saves. The dense part is saved in whole.
struct SavedRows {
    /// Those that changed since the last of these saves, which must be the last one that was completed and
    /// had changes_follow: names of folders beside that of the save, of which the first has all rows and each
    /// other one what changed since the one before. None: all rows.
    std::vector<std::string> since = {};
    /// A save of what changes since this one will come: servers remember which rows do.
    bool changes_follow = false;
};

/// What a batch looks up in a table.
struct Lookup {
    std::string table;                  ///< "user.weight"
    std::span<const std::int64_t> ids;  ///< may repeat
};

/// A trainer's way to the servers. Not copyable; lives longer than the executors that use it.
class ServerConnection {
  public:
    /// Waits for the servers. All trainers of the job make one.
    /// @throws UsageError when options and transpiler do not fit, or this rank is no trainer; Error when a
    /// server was started with another program; CommunicatorTimeout when one does not answer
    ServerConnection(const ServerRanks& ranks, const DistributeTranspiler& transpiler,
                     const ServerJobOptions& options);
    ServerConnection(const ServerConnection&) = delete;
    ServerConnection& operator=(const ServerConnection&) = delete;
    ~ServerConnection();

    ServerMode mode() const;

    /// For ExecutorOptions::servers of get_trainer_program() and of what for_test() makes of it.
    std::shared_ptr<program::ServerLink> link() const;

    /// Sets the dense parameters to those of the servers: before the first step, so that all trainers begin
    /// alike, and before a test in the asynchronous modes.
    void pull_parameters(const State& state) const;

    /// Asks for the rows of the next batch, while the step before it goes on. In sync mode the step's updates
    /// are in them.
    /// @throws ProgramError when there is no such table
    void prefetch(const std::string& table, std::span<const std::int64_t> ids) const;

    /// The same of several lookups at once, which need no message each.
    void prefetch(std::span<const Lookup> lookups) const;

    /// Stands for a step that other trainers make and this one does not, because it has fewer batches than
    /// they and goes on with them later; who has none left altogether calls leave(). In sync mode its
    /// gradients of the step are zeros, in half_async the others do not wait for it, in both the dense
    /// parameters become those behind the step. In async and geo mode trainers count no steps of others:
    /// nothing happens. Waits as a step does.
    void skip_step(const State& state) const;

    /// Waits until all that this trainer has pushed, in geo mode all that it has changed, is in the
    /// parameters.
    void finish() const;

    /// Lets every server write what it has into a folder that all of them see, and that is there: blocks of
    /// parameters and optimizer state, rows of tables. Returns when it is fixed what they write: whatever is
    /// pushed afterwards is not in it. All trainers must have finish()ed, and none may push before it
    /// returns, so that the servers stand at the same step. One trainer calls it, and no second time before
    /// finish_save(). @throws Error when a server cannot; there is no save to be finished then
    void begin_save(const std::filesystem::path& folder, const SavedRows& rows = {}) const;

    /// Whether all servers have written, so that finish_save() would not wait. It is found out while this
    /// trainer trains.
    bool is_saved() const;

    /// Waits until all servers have written.
    /// @return writes the manifest, with checksums of all files in the folder, which makes it one that can be
    /// loaded; throws Error when it cannot. Any thread may call it. @throws Error when a server could not
    /// write
    std::function<void()> finish_save() const;

    /// All of that, and training waits.
    void save(const std::filesystem::path& folder) const;

    /// Tells all servers which day it is: rows that are pulled or pushed from now on are marked with it. With
    /// `shrinks`, while it is the day before still, tables with RowStatistics let shows and clicks decay, and
    /// rows go whose score is too low or that were not used for too long; counts of ids that wait for
    /// admission are halved. What is pulled and
    /// pushed meanwhile is before or behind it, server by server: who wants to know lets no trainer do so, as
    /// with save(). One trainer calls it. @returns how many rows went
    std::uint64_t begin_day(std::uint32_t day, bool shrinks) const;

    /// Of all servers together.
    ServerCounts counts() const;

    /// Geo mode: what the optimizer keeps of the rows that this trainer has looked up, and how many steps it
    /// has seen, as Checkpoint::optimizer; each trainer has its own. Nothing in the other modes, whose
    /// servers keep it, and when no optimizer of rows keeps anything. To be called when this trainer has
    /// finish()ed.
    Checkpoint trainer_rows() const;

    /// Goes on with it, before the first step. @throws UsageError when it is of other tables
    void restore_trainer_rows(const Checkpoint& rows) const;

    /// Tells the servers that this trainer is done. The others go on without it: in sync mode its gradients
    /// are zeros from now on. A trainer that ends without it ends the job: three seconds later the servers
    /// throw an Error that names it, and so do trainers that wait for them.
    void leave();

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain
