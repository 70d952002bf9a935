// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dtrain/server_mode.hpp>

#include "comm/message/transport.hpp"
#include "ps/metrics/server_load.hpp"
#include "ps/server/dense_part.hpp"
#include "ps/server/pushed_steps.hpp"
#include "ps/server/report_turn.hpp"
#include "ps/server/request.hpp"
#include "ps/server/request_counts.hpp"
#include "ps/server/running_save.hpp"
#include "ps/server/server_parameters.hpp"
#include "ps/server/trainer_steps.hpp"
#include "ps/server/trainers.hpp"
#include "ps/server/waiting_requests.hpp"
#include "ps/table/sparse_table.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

struct ServerOptions {
    ServerMode mode = ServerMode::sync;
    /// Number of steps that a trainer may be ahead of the slowest one; half_async only.
    std::int64_t staleness = 0;
    std::vector<int> trainers;    ///< rank of each trainer, by trainer number
    std::string layout;           ///< layout that trainers must match, as text with one line per item
    int table_threads = 1;        ///< number of threads that share large batches of rows
    std::int64_t first_step = 0;  ///< number of steps already in the parameters
    /// If a trainer's dense gradients of a step contain NaN or infinity, they are replaced by zeros and
    /// counted. Tables have their own option.
    bool reject_not_finite = false;
};

/// A parameter server without its event loop: takes messages and answers them.
///
/// What a trainer pushes in a step is kept until the step ends, and is then applied as a whole: in sync mode
/// once all trainers have ended the step, else as soon as this trainer has. So parameters never contain part
/// of a push. A pull is answered once the parameters contain as many steps as it asks for.
///
/// A trainer that leaves early counts as having zero gradients; the others no longer wait for it. The same
/// holds for one step for a trainer that reports that it is idle.
class Server {
  public:
    /// @param transport must outlive this
    Server(ServerOptions options, DensePart dense, std::vector<ServerTable> tables,
           comm::Transport& transport);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Handles a message. If it is invalid, its sender receives the error and nothing changes.
    void take(comm::Message&& message);

    /// Answers requests that are now due, one per trainer, so that a trainer with many does not hold up
    /// others. False if nothing is left to answer.
    bool go_on_answering();

    /// True if all trainers have joined and left.
    bool is_done() const { return trainers_.have_all_left(); }

    /// While a trainer waits for others: the trainers that it waits for.
    std::vector<int> missing_trainers() const;

    /// Number of updates in the parameters: in sync mode common steps of all trainers, else pushes.
    std::int64_t steps() const { return steps_.updates(); }

    const DensePart& dense() const { return parameters_.dense(); }
    int table_threads() const { return parameters_.table_threads(); }
    std::vector<SparseTable>& tables() { return parameters_.tables(); }
    const std::vector<SparseTable>& tables() const { return parameters_.tables(); }

    using Counts = RequestCounts;
    const Counts& counts() const { return counts_; }
    std::size_t waiting_pulls() const { return waiting_.count(); }

    /// The load since the previous call; added to counts().
    ServerLoad take_load();

    /// Sets the writer of this server's part of checkpoints. Without one, saves are refused.
    void save_by(std::unique_ptr<Saver> saver) { save_.use(std::move(saver)); }

    /// Does a piece of the save in progress. False if there is nothing to do for now.
    bool go_on_with_save() { return save_.go_on(); }

    /// Sets the function to call with the reason when a request is refused or fails; the requesting trainer
    /// receives it too.
    void on_failure(std::function<void(std::string_view)> on_failure) {
        save_.on_failure(on_failure);
        on_failure_ = std::move(on_failure);
    }

    /// Sets the function that makes the answer to a trainer's request for counts.
    void on_count(std::function<std::string()> on_count) { on_count_ = std::move(on_count); }

    /// Once a trainer has waited this long for others, all waiting trainers receive an error naming the late
    /// ones, and the server refuses all further requests. Zero: never.
    void give_up_after(std::chrono::seconds deadline);

    /// Fails if a trainer has ended without leave(), since this server would wait for it forever. Throws only
    /// after a few seconds, since the trainer usually ends the job itself. @throws Error naming the trainer
    void end_when_abandoned() const { trainers_.check_none_is_lost(std::chrono::steady_clock::now()); }

    /// Sends the reason why this server ends to all connected trainers.
    void report_end(std::string_view why);

    /// Does work for which an idle server has time. False if there is none.
    bool work_ahead() { return parameters_.work_ahead(); }

  private:
    void join(std::size_t trainer, const MessageReader& reader);
    void push(std::size_t trainer, comm::Message&& message, const MessageReader& reader);
    void pass_step(std::size_t trainer);
    void leave(std::size_t trainer, const MessageHeader& header);
    void report_sizes(std::size_t trainer, const MessageHeader& asked);

    void apply_common_steps();
    void apply_step_of(std::size_t trainer, const MessageHeader& last);
    void update(std::uint32_t steps);
    void copy_dense_to_host();

    void ask(std::size_t trainer, Request&& request);
    void answer_waiting();
    void refuse_waiting();
    void answer(std::size_t trainer, Request&& request);
    void give_values(std::size_t trainer, const MessageHeader& asked, const AskedValues& pull);
    void begin_save(std::size_t trainer, const MessageHeader& asked, const AskedSave& save);
    void begin_day(std::size_t trainer, const MessageHeader& asked, const AskedDay& day);

    void reply(std::size_t trainer, const MessageHeader& header, std::string_view text = {});
    void reply_with_sizes(std::size_t trainer, const MessageHeader& header);
    void reply_to_next_turn(const std::optional<ReportTurn::Waiting>& next);
    void report_failure(std::string_view why) const {
        if (on_failure_) on_failure_(why);
    }
    void recycle(PushedSteps::Step& step);

    ServerOptions options_;
    comm::Transport* transport_;
    RequestCounts counts_;
    ServerLoad load_;
    ServerParameters parameters_;
    Trainers trainers_;
    TrainerSteps steps_;
    PushedSteps pushed_;
    WaitingRequests waiting_;
    bool may_be_due_ = false;  ///< some waiting requests may be due
    ReportTurn turn_;
    std::function<std::string()> on_count_;
    std::function<void(std::string_view)> on_failure_;
    std::string broken_;  ///< why the server is unusable; "": it works
    RunningSave save_;    ///< declared last: must be destroyed before the tables
};

}  // namespace dtrain::ps
