// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/message/transport.hpp"
#include "ps/client/client_options.hpp"
#include "ps/client/dense_puller.hpp"
#include "ps/client/dense_pusher.hpp"
#include "ps/client/limit_report.hpp"
#include "ps/client/push_messages.hpp"
#include "ps/client/recent_batches.hpp"
#include "ps/client/row_limits.hpp"
#include "ps/client/row_puller.hpp"
#include "ps/client/row_pusher.hpp"
#include "ps/client/row_request.hpp"
#include "ps/client/server_channel.hpp"
#include "ps/client/server_error.hpp"
#include "ps/client/server_saves.hpp"
#include "ps/client/step_clock.hpp"
#include "ps/client/table_shapes.hpp"

namespace dtrain::ps {

/// A trainer's connection to all servers. Every member function also processes answers that have arrived. If
/// a server refuses a request, the next function that waits throws ServerError; if a server does not answer
/// in time, CommunicatorTimeout.
///
/// Answers of servers include the row counts of their tables. Once the sum for a table exceeds its limit, the
/// next function that waits throws DictSizeError, once, on one trainer: another trainer that detects it waits
/// until the first has left.
class Client {
  public:
    /// @param transport must outlive this
    Client(const ClientOptions& options, comm::Transport& transport);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Joins all servers and waits until they accept. @returns number of steps already in the parameters
    std::int64_t join();

    /// Announces to all servers that this trainer sends nothing any more, and waits until they acknowledge.
    void leave();

    /// Notifies the servers that this trainer ends without leave(); waits for no answer.
    void abandon() noexcept;

    /// Adds gradients of elements of a server's dense parameters for this step.
    void push_dense(int server, std::size_t first, std::span<const float> gradients) {
        dense_pusher_.push(server, first, gradients);
    }

    /// Adds gradients of rows for this step. Gradients of the same id are added in order within a call; then
    /// the sums of several calls are added. They are sent to the servers when `last` is set, or at the end of
    /// the step.
    /// @param clicks for tables with statistics: clicks of each id, which counts as shown once; empty: no
    /// clicks
    void push_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> gradients,
                   bool last, std::span<const float> clicks = {}) {
        row_pusher_.push(table, ids, gradients, last, clicks);
    }

    /// Sends the rest of the step, and requests the dense parameters after it.
    void end_step();

    /// Skips a step of the other trainers for which this one has no gradients: sync and half_async count it
    /// as done, and the dense parameters after it must be pulled. The other modes do not count steps of
    /// others.
    /// @return whether the step was counted
    bool pass_step();

    /// All dense parameters of a server. sync and half_async wait for those of this step, and so does async
    /// with most_merged = 1; otherwise async returns what has arrived. Empty: nothing new.
    std::span<const float> dense_values(int server) { return dense_puller_.values(server); }
    /// Whether dense_values() returns without waiting.
    bool has_dense_come() const { return dense_puller_.have_come(); }
    /// Releases the values of dense_values().
    void drop_dense_values() { dense_puller_.drop(); }
    /// Waits for the current parameters, in all modes.
    void pull_dense() { dense_puller_.ask_anew(); }

    /// Waits for the rows. @param out as many rows as ids
    void pull_rows(const WantedRows& wanted, std::span<float> out);

    using RowRequest = ps::RowRequest;

    /// pull_rows() in two phases, for any number of tables: small requests to the same server share a
    /// message. Each returned request must be taken or dropped exactly once.
    std::vector<RowRequest> ask_rows(std::span<const WantedRows> wanted) {
        return row_puller_.ask(steps(), wanted);
    }
    bool have_rows_come(const RowRequest& asked) const { return row_puller_.have_come(asked); }
    void take_rows(const RowRequest& asked, std::span<float> out) { row_puller_.take(asked, out); }
    void drop_rows(const RowRequest& asked) { row_puller_.drop(asked); }

    /// Requests the rows needed after this step, so that they arrive while this step runs.
    void prefetch_rows(std::span<const WantedRows> wanted) { row_puller_.prefetch(steps(), wanted); }

    /// Asks each server to save its current data, in sync mode including this trainer's last step, and waits
    /// until the servers have fixed what they save. One save at a time. @param request text for their Saver
    /// @throws ServerError if a server refuses, DictSizeError; then no save is in progress
    void begin_save(const std::string& request);

    /// Whether finish_save() returns without waiting.
    bool is_saved();

    /// Waits until all servers have saved. @returns the answer of each
    /// @throws ServerError if a server failed; then no save is in progress
    std::vector<std::string> finish_save() { return saves_.finish(); }

    /// Starts a new day on all servers once this step is in the parameters, and optionally shrinks their
    /// tables first. @returns number of removed rows
    std::uint64_t begin_day(std::uint32_t day, bool shrinks);

    /// The counts of each server, as text.
    std::vector<std::string> counts();

    /// Waits until everything that was pushed is in the parameters.
    void flush();

    /// Processes what has arrived. Never blocks.
    void progress() { channel_.progress(); }

    /// The same, but at most every 0.1 ms: for calls between operators. Where ranks share processors, looking
    /// in vain gives the processor away.
    void progress_at_times();

    std::int64_t steps() const { return clock_.steps(); }
    int servers() const { return channel_.servers(); }
    std::size_t width(std::uint32_t table) const { return shapes_.width(table); }
    /// In floats.
    std::size_t dense_size(int server) const { return dense_puller_.size(server); }

  private:
    void end_merged_step();
    void send_merged_steps();
    void wait_until_applied();

    std::vector<std::string> layouts_;
    StepClock clock_;
    RowLimits limits_;
    ServerChannel channel_;
    LimitReport limit_report_;
    TableShapes shapes_;
    RecentBatches recent_;
    PushMessages pushes_;
    DensePusher dense_pusher_;
    DensePuller dense_puller_;
    RowPusher row_pusher_;
    RowPuller row_puller_;
    ServerSaves saves_;
    std::chrono::steady_clock::time_point next_progress_{};
};

}  // namespace dtrain::ps
