// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/server_mode.hpp>

#include "comm/transport.hpp"
#include "ps/metrics/server_load.hpp"
#include "ps/server/dense_part.hpp"
#include "ps/server/row_batch.hpp"
#include "ps/server/running_save.hpp"
#include "ps/table/sparse_table.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

struct ServerTable {
    SparseTable table;
    std::string
        learning_rate;  ///< variable of the server's program that a schedule makes; "": the optimizer's
};

struct ServerOptions {
    ServerMode mode = ServerMode::sync;
    /// Steps that a trainer may be ahead of the slowest one; half_async only.
    std::int64_t staleness = 0;
    std::vector<int> trainers;    ///< their ranks, by number
    std::string layout;           ///< what trainers must expect, as text with a line for each thing
    int table_threads = 1;        ///< that share large batches of rows
    std::int64_t first_step = 0;  ///< steps that are in the parameters already
    /// A trainer's dense gradients of a step count as zeros, and are counted, when one of them is NaN or
    /// infinite. Tables have an option of their own.
    bool reject_not_finite = false;
};

/// A parameter server without its loop: takes messages and answers them.
///
/// What a trainer pushes in a step is kept until the step ends, and is applied at once then: with sync when
/// the steps of all trainers have ended, else as soon as this one's has. So parameters never have half of a
/// push in them. A pull is answered when as much is in the parameters as it asks for.
///
/// A trainer that leaves early counts as one whose gradients are zeros; the others wait for it no longer. So
/// does, for one step, a trainer that says it is idle.
class Server {
  public:
    /// @param transport outlives this
    Server(ServerOptions options, DensePart dense, std::vector<ServerTable> tables,
           comm::Transport& transport);

    /// What is wrong with a message is told to who sent it, and changes nothing.
    void take(comm::Message&& message);

    /// Answers what has become due: of each trainer one message, so that a trainer with many holds up no
    /// other. False when there is nothing more to answer.
    bool go_on_answering();

    /// All trainers have come and left.
    bool is_done() const;

    /// True while a trainer waits for others: the trainers that it waits for.
    std::vector<int> missing_trainers() const;

    /// Updates that are in the parameters: with sync steps of all trainers together, else pushes.
    std::int64_t steps() const { return steps_; }

    const DensePart& dense() const { return dense_; }
    int table_threads() const { return team_.threads(); }
    std::vector<SparseTable>& tables() { return tables_; }
    const std::vector<SparseTable>& tables() const { return tables_; }

    struct Counts {
        std::uint64_t pulls = 0;
        std::uint64_t pushes = 0;
        std::uint64_t keys_pulled = 0;
        std::uint64_t keys_pushed = 0;
        std::uint64_t refused = 0;
        std::uint64_t dense_rejected = 0;  ///< steps of trainers
        LogHistogram answers;              ///< until the load was taken last
        LogHistogram updates;
    };
    const Counts& counts() const { return counts_; }
    std::size_t waiting_pulls() const;

    /// How it was used since this was called last. What it says is in the counts from now on.
    ServerLoad take_load();

    /// What writes this server's part of checkpoints. Without it, it keeps none.
    void save_by(std::unique_ptr<Saver> saver) { save_.use(std::move(saver)); }

    /// A piece of the save that a trainer has asked for. False when there is nothing to do now.
    bool go_on_with_save() { return save_.go_on(); }

    /// Called with the reason why a request was refused or failed; the trainer that asked gets it, too.
    void on_failure(std::function<void(std::string_view)> on_failure) {
        save_.on_failure(on_failure);
        on_failure_ = std::move(on_failure);
    }

    /// What a trainer is told that asks for counts.
    void on_count(std::function<std::string()> on_count) { on_count_ = std::move(on_count); }

    /// When a trainer has waited so long for others, all are told for whom, and nothing else is answered any
    /// more. Zero: never.
    void give_up_after(std::chrono::seconds deadline);

    /// A trainer that ends without leave() will be waited for in vain, by this server too. It mostly ends the
    /// job itself: so this is done a moment later. @throws Error naming the trainer
    void end_when_abandoned() const;

    /// Tells all trainers that are there why this server ends.
    void report_end(std::string_view why);

    /// Work for when no message is there. False when there is none.
    bool work_ahead();

  private:
    enum class Presence { expected, here, gone };

    /// A pull, a save or a day.
    struct WaitingPull {
        comm::Message message;
        std::chrono::steady_clock::time_point since;
    };

    struct Trainer {
        int rank = 0;
        Presence presence = Presence::expected;
        std::int64_t ended = 0;           ///< steps
        std::vector<comm::Message> step;  ///< what it has pushed of the step that has not ended
        std::deque<std::vector<comm::Message>> ended_steps;  ///< that are not applied; sync only
        std::deque<WaitingPull> waiting;
    };

    std::size_t trainer_of(int rank) const;
    Trainer& present(std::size_t trainer, const MessageHeader& header);
    void greet(std::size_t trainer, const MessageReader& reader);
    void push(std::size_t trainer, comm::Message&& message);
    void check_push(MessageReader reader) const;
    void check_pull(MessageReader reader, int from) const;
    void pull(std::size_t trainer, comm::Message&& message);
    void pass_step(std::size_t trainer, const MessageHeader& header);
    void leave(std::size_t trainer, const MessageHeader& header);
    void note_abandoned(std::size_t trainer);

    void report_sizes(std::size_t trainer, const MessageHeader& asked);
    void give_turn_back(std::size_t trainer);
    void add_sizes(MessageWriter& writer) const;
    void reply_with_sizes(std::size_t trainer, const MessageHeader& header);

    static void check_day(MessageReader reader);
    void begin_day(std::size_t trainer, MessageReader reader);

    bool is_due(const MessageHeader& asked) const;
    void answer_when_due(std::size_t trainer, comm::Message&& message);
    void answer_waiting();
    void refuse_waiting();
    void answer(std::size_t trainer, const comm::Message& asked);
    void give_values(std::size_t trainer, MessageReader reader);
    std::size_t likely_bytes_of_answer(MessageReader asked) const;
    void reply(std::size_t trainer, const MessageHeader& header, std::string_view text = {});
    void report_failure(std::string_view why) const {
        if (on_failure_) on_failure_(why);
    }

    void apply_common_steps();
    void apply_step_of(std::size_t trainer, const MessageHeader& last);
    void take_gradients(int source, const std::vector<comm::Message>& messages);
    void update(std::uint32_t steps = 1);
    void update_tables();
    void bring_dense();
    void recycle(std::vector<comm::Message>& messages);

    ServerOptions options_;
    DensePart dense_;
    TableTeam team_;
    std::vector<SparseTable> tables_;
    std::vector<std::string> learning_rates_;
    comm::Transport* transport_;
    std::deque<Trainer> trainers_;
    bool may_be_due_ = false;          ///< some of what waits
    std::optional<std::size_t> turn_;  ///< the trainer that may say that a table has too many rows
    struct Abandoned {
        std::size_t trainer;
        std::chrono::steady_clock::time_point since;
    };
    std::optional<Abandoned> abandoned_;  ///< the first
    struct WaitingForTurn {
        std::size_t trainer;
        MessageHeader asked;
    };
    std::deque<WaitingForTurn> waiting_for_turn_;
    std::int64_t steps_ = 0;
    Counts counts_;
    ServerLoad load_;
    std::function<std::string()> on_count_;
    std::function<void(std::string_view)> on_failure_;
    std::string broken_;  ///< why it can do nothing any more

    std::vector<RowBatch> batches_;  ///< of a step, by table

    RunningSave save_;  // goes before the tables
};

}  // namespace dtrain::ps
