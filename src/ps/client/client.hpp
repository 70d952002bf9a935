// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/server_mode.hpp>

#include "comm/transport.hpp"
#include "ps/client/table_room.hpp"
#include "ps/table/distinct_ids.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// A server could not fulfil a request.
class ServerError : public Error {
  public:
    ServerError(int server, const std::string& why);
    int server() const { return server_; }

  private:
    int server_;
};

/// Rows of a table that a batch looks up. Ids may repeat.
struct WantedRows {
    std::uint32_t table = 0;
    std::span<const std::int64_t> ids = {};
    bool reads_only = false;  ///< does not change the table
};

/// What a trainer needs to know about its servers.
struct ClientOptions {
    ServerMode mode = ServerMode::sync;
    std::vector<int> servers;          ///< their ranks, by server number
    std::vector<std::string> layouts;  ///< the layout expected of each server
    std::vector<std::size_t> dense;    ///< number of dense parameter floats on each server
    std::vector<std::size_t> widths;   ///< width of the tables' rows, by table number
    /// Whether a table keeps statistics of rows, by table number; false for missing entries.
    std::vector<bool> with_statistics = {};
    /// Limits of tables, by table number; none for missing entries.
    std::vector<std::optional<TableLimit>> limits = {};
    /// async: the dense parameters at the start of a step lack fewer than this many of this trainer's own
    /// steps. Up to this many steps are merged on the trainer, with summed gradients, while the servers have
    /// not yet applied an earlier push.
    int most_merged = 1;
    std::chrono::seconds deadline{0};  ///< for an answer; 0: no deadline
    /// Maximum number of rows of a table per message; larger batches are split. 0: chosen for speed.
    std::size_t message_rows = 0;
};

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
    Client(ClientOptions options, comm::Transport& transport);

    /// Joins all servers and waits until they accept. @returns number of steps already in the parameters
    std::int64_t join();

    /// Announces to all servers that this trainer sends nothing any more, and waits until they acknowledge.
    void leave();

    /// Notifies the servers that this trainer ends without leave(); waits for no answer.
    void abandon() noexcept;

    /// Adds gradients of elements of a server's dense parameters for this step.
    void push_dense(int server, std::size_t first, std::span<const float> gradients);

    /// Adds gradients of rows for this step. Gradients of the same id are added in order within a call; then
    /// the sums of several calls are added. They are sent to the servers when `last` is set, or at the end of
    /// the step.
    /// @param clicks for tables with statistics: clicks of each id, which counts as shown once; empty: no
    /// clicks
    void push_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> gradients,
                   bool last, std::span<const float> clicks = {});

    /// Sends the rest of the step, and requests the dense parameters after it.
    void end_step();

    /// Skips a step of the other trainers for which this one has no gradients: sync and half_async count it
    /// as done, and the dense parameters after it must be pulled. The other modes do not count steps of
    /// others.
    /// @return whether the step was counted
    bool pass_step();

    /// All dense parameters of a server. sync and half_async wait for those of this step, and so does async
    /// with most_merged = 1; otherwise async returns what has arrived. Empty: nothing new.
    std::span<const float> dense_values(int server);
    /// Whether dense_values() returns without waiting.
    bool has_dense_come() const;
    /// Releases the values of dense_values().
    void drop_dense_values();
    /// Waits for the current parameters, in all modes.
    void pull_dense();

    /// Waits for the rows. @param out as many rows as ids
    void pull_rows(const WantedRows& wanted, std::span<float> out);

    /// A pending request for rows.
    struct RowRequest {
        std::uint32_t table = 0;
        std::int64_t step = 0;          ///< the step to which the rows belong
        std::vector<std::int64_t> ids;  ///< ids of the batch; only for a prefetch
        /// For each row of the batch the index of its distinct id; empty: no id repeats.
        std::vector<std::uint32_t> places;
        std::vector<std::uint32_t> servers;  ///< server of each distinct id; empty with a single server
        /// A section of the answer to a request.
        struct Part {
            std::uint64_t request = 0;
            std::size_t section = 0;
        };
        /// By server: parts of message_rows() rows each, in order; the last one may have fewer.
        std::vector<std::vector<Part>> parts;
        std::vector<std::size_t> counts;  ///< number of rows, by server
    };

    /// pull_rows() in two phases, for any number of tables: small requests to the same server share a
    /// message. Each returned request must be taken or dropped exactly once.
    std::vector<RowRequest> ask_rows(std::span<const WantedRows> wanted);
    bool have_rows_come(const RowRequest& asked) const;
    void take_rows(const RowRequest& asked, std::span<float> out);
    void drop_rows(const RowRequest& asked);

    /// Requests the rows needed after this step, so that they arrive while this step runs.
    void prefetch_rows(std::span<const WantedRows> wanted);

    /// Asks each server to save its current data, in sync mode including this trainer's last step, and waits
    /// until the servers have fixed what they save. One save at a time. @param request text for their Saver
    /// @throws ServerError if a server refuses, DictSizeError; then no save is in progress
    void begin_save(const std::string& request);

    /// Whether finish_save() returns without waiting.
    bool is_saved();

    /// Waits until all servers have saved. @returns the answer of each
    /// @throws ServerError if a server failed; then no save is in progress
    std::vector<std::string> finish_save();

    /// Starts a new day on all servers once this step is in the parameters, and optionally shrinks their
    /// tables first. @returns number of removed rows
    std::uint64_t begin_day(std::uint32_t day, bool shrinks);

    /// The counts of each server, as text.
    std::vector<std::string> counts();

    /// Waits until everything that was pushed is in the parameters.
    void flush();

    /// Processes what has arrived. Never blocks.
    void progress();

    std::int64_t steps() const { return steps_; }
    int servers() const { return static_cast<int>(options_.servers.size()); }
    std::size_t width(std::uint32_t table) const { return options_.widths[table]; }
    /// In floats.
    std::size_t dense_size(int server) const { return options_.dense[static_cast<std::size_t>(server)]; }

  private:
    // A push that reaches this size is sent before the step ends.
    static constexpr std::size_t full_message = 256 * std::size_t{1024};

    /// Whether to send an open message before adding `more` bytes: it would become too long and already has a
    /// reasonable size.
    static bool leaves_before(std::size_t bytes, std::size_t more) {
        return bytes + more > full_message && bytes > full_message / 8;
    }

    class PullMessages;
    class RowsThatCome;

    struct Gradients {
        std::vector<std::int64_t> ids;
        std::vector<float> values;
        int lists = 0;             ///< number of lists in it, each without repeated ids
        bool are_written = false;  ///< some of this step have been written to messages
    };

    struct Answer {
        int server = 0;
        MessageKind to = MessageKind::join;  ///< the kind of the request
        std::optional<comm::MessageBytes> message;
        bool is_begun = false;   ///< of a save: the server has fixed what it saves
        std::size_t takers = 1;  ///< number of callers that must still forget() it
    };

    /// Sends a message to each server. @returns the requests, by server
    /// @param write adds the content for a server; empty: only the header is sent
    std::vector<std::uint64_t> send_all(MessageHeader header,
                                        const std::function<void(int, MessageWriter&)>& write);
    /// The same, and waits for the answers.
    /// @param read is called with the answer of each server, in server order; may be empty
    void ask_all(const MessageHeader& header, const std::function<void(int, MessageWriter&)>& write,
                 const std::function<void(int, const MessageReader&)>& read);
    std::uint64_t expect(int server, MessageKind to);
    Answer& answer_to(std::uint64_t request, int server, MessageKind kind);
    const comm::MessageBytes& wait_for(std::uint64_t request, const char* what);
    void wait_until_begun(std::uint64_t save);
    bool has_come(std::uint64_t request) const;
    bool have_come(std::span<const std::uint64_t> requests) const;
    /// Called once by each taker. If the answer has not arrived by the last call, it is dropped on arrival.
    void forget(std::uint64_t request);
    template <class Condition>
    void wait_until(const Condition& condition, const char* what, int server);
    bool take_message();
    void note_sizes(int server, MessageReader reader);
    void check_room();
    void throw_when_passed();
    void take_turn(SizesTurn turn);
    std::uint64_t ask_sizes();  ///< @returns total number of rows evicted so far
    void renew_sizes();
    int server_of_rank(int rank) const;

    MessageWriter& open_push(int server, std::size_t likely_bytes = 0);
    MessageWriter take_push(int server);
    void send_push(int server, std::uint32_t steps);
    void send_ends(std::uint32_t steps);
    bool leaves_with_step() const;
    void send_rows(std::uint32_t table);
    bool has_statistics(std::uint32_t table) const;
    std::size_t width_to_push(std::uint32_t table) const;
    std::span<const float> with_statistics(std::span<const float> gradients, std::size_t width,
                                           std::span<const float> clicks);
    void write_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values,
                    bool may_repeat);
    void write_each(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> values);
    void write_sums(std::uint32_t table, const DistinctIds& distinct, std::span<const float> values);
    const DistinctIds& distinct_of(std::uint32_t table, std::span<const std::int64_t> ids);
    MessageWriter::Rows add_rows(int server, std::uint32_t table, std::size_t count);
    void end_step_alone();
    bool is_all_applied() const;
    void wait_until_applied();
    void send_merged();
    RowRequest ask_rows(const WantedRows& wanted, PullMessages& messages);
    std::optional<RowRequest> prefetched(const WantedRows& wanted);
    void drop_old_prefetches();
    std::size_t message_rows(std::uint32_t table) const;
    void ask_dense();
    void renew_dense();

    ClientOptions options_;
    comm::Transport* transport_;
    std::int64_t steps_ = 0;
    std::uint64_t requests_ = 0;
    std::map<std::uint64_t, Answer> answers_;
    std::vector<std::optional<MessageWriter>> pushes_;  ///< open messages, by server
    std::vector<std::uint64_t> unapplied_;              ///< async: push not yet applied, by server; 0: none
    std::vector<std::vector<float>> merged_;            ///< async: summed gradients of unsent steps
    int merged_steps_ = 0;
    std::vector<Gradients> gradients_;           ///< by table
    bool ids_are_new_ = false;                   ///< the rows being written are new in this step
    std::vector<std::uint64_t> dense_requests_;  ///< by server; 0: none
    std::vector<std::int64_t> steps_asked_;      ///< async: own steps in the requested values, by server
    std::vector<std::int64_t> steps_known_;      ///< the same for the values taken last
    std::vector<bool> are_new_;                  ///< dense values may be taken, by server
    std::vector<RowRequest> prefetched_;
    std::vector<std::uint64_t> saves_;  ///< by server; empty: no save is in progress
    TableRoom room_;
    std::optional<ServerError> refused_for_room_;  ///< from a server that alone exceeds a table's limit
    bool is_checking_room_ = false;
    bool space_is_reported_ = false;
    DistinctIds distinct_;
    struct AskedBatches {
        std::array<DistinctIds, 2> newest;  ///< one of them may be a prefetch
        std::size_t next = 0;
    };
    std::vector<AskedBatches> asked_;  ///< by table; a push usually has the ids of a pull
    std::vector<float> rows_to_push_;  ///< rows of a call, with shows and clicks
};

/// Adds rows of the same id, in order. Afterwards each id occurs once, in order of first occurrence.
void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values);

}  // namespace dtrain::ps
