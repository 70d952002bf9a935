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

/// A server could not do what was asked of it.
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
    bool reads_only = false;  ///< changes nothing in the table
};

/// What a trainer needs to know of its servers.
struct ClientOptions {
    ServerMode mode = ServerMode::sync;
    std::vector<int> servers;          ///< their ranks, by number
    std::vector<std::string> layouts;  ///< what each server is expected to have
    std::vector<std::size_t> dense;    ///< floats of dense parameters on each server
    std::vector<std::size_t> widths;   ///< of the tables' rows, by number
    /// Tables that keep statistics of rows, by number; those that are not named keep none.
    std::vector<bool> with_statistics = {};
    /// Of tables, by number; those that are not named have none.
    std::vector<std::optional<TableLimit>> limits = {};
    /// async: the dense parameters that a step begins with lack fewer than this many of this trainer's own
    /// steps. So many may wait for each other on the trainer, their gradients added up, while the servers
    /// have not applied an earlier push.
    int most_merged = 1;
    std::chrono::seconds deadline{0};  ///< for an answer; 0: none
    /// Rows that a message has of a table, at most; larger batches go in several. 0: as many as are fast.
    std::size_t message_rows = 0;
};

/// A trainer's side of all servers. Answers are taken in whenever one of its functions is called. What a
/// server refuses is thrown as ServerError by the next function that waits; a server that does not answer in
/// time as CommunicatorTimeout.
///
/// With their answers servers tell how many rows their tables have. As soon as the sum of a table passes its
/// limit, the function that waits then throws DictSizeError, once, on one trainer: the next one to find out
/// waits until the first has left.
class Client {
  public:
    /// @param transport outlives this
    Client(ClientOptions options, comm::Transport& transport);

    /// Joins all servers and waits until they accept. @returns steps that are in the parameters
    std::int64_t join();

    /// Tells all servers that nothing will come any more, and waits until they have seen it.
    void leave();

    /// Tells them that this trainer ends without leave(), and waits for nobody.
    void abandon() noexcept;

    /// Gradients of elements of a server's dense parameters, in this step.
    void push_dense(int server, std::size_t first, std::span<const float> gradients);

    /// Gradients of rows, in this step. Those of the same id are added in their order; of several calls, the
    /// sums of each. They go to the servers with `last`, or at the step's end.
    /// @param clicks of tables with statistics: of each id, which was shown once; empty: none
    void push_rows(std::uint32_t table, std::span<const std::int64_t> ids, std::span<const float> gradients,
                   bool last, std::span<const float> clicks = {});

    /// Sends what is left of the step, and asks for the dense parameters behind it.
    void end_step();

    /// A step of the other trainers in which this one has no gradients: sync and half_async count it as done,
    /// and the dense parameters behind it are to be pulled. The other modes count no steps of others.
    /// @return whether it was counted
    bool pass_step();

    /// All dense parameters of a server, once they are there: sync and half_async wait for those of this
    /// step, and so does async with a most_merged of 1; else async takes what has arrived. Empty: nothing
    /// new.
    std::span<const float> dense_values(int server);
    /// Whether dense_values() would not wait.
    bool has_dense_come() const;
    /// They are no longer needed.
    void drop_dense_values();
    /// Waits for the parameters as they are, in all modes.
    void pull_dense();

    /// Waits. @param out as many rows as there are ids
    void pull_rows(const WantedRows& wanted, std::span<float> out);

    /// Rows that were asked for.
    struct RowRequest {
        std::uint32_t table = 0;
        std::int64_t step = 0;          ///< whose rows these are
        std::vector<std::int64_t> ids;  ///< of the batch, when it was asked for early
        std::vector<std::uint32_t>
            places;  ///< of the batch's rows among the distinct ones; empty: each its own
        std::vector<std::uint32_t> servers;  ///< of the distinct ones; empty with one server
        /// Which section of the answer to which request.
        struct Part {
            std::uint64_t request = 0;
            std::size_t section = 0;
        };
        /// By server, message_rows() of its rows each, in their order; the last one may have fewer.
        std::vector<std::vector<Part>> parts;
        std::vector<std::size_t> counts;  ///< of rows, by server
    };

    /// pull_rows() in two parts, of any number of tables: what there is little of goes in one message to a
    /// server. Each is to be taken or dropped, once.
    std::vector<RowRequest> ask_rows(std::span<const WantedRows> wanted);
    bool have_rows_come(const RowRequest& asked) const;
    void take_rows(const RowRequest& asked, std::span<float> out);
    void drop_rows(const RowRequest& asked);

    /// Asks for the rows that will be wanted behind this step: the answer comes while this step goes on.
    void prefetch_rows(std::span<const WantedRows> wanted);

    /// Asks each server to save what it has now, of sync mode with this trainer's last step in it, and waits
    /// until what they save is fixed. One save at a time. @param request for their Saver
    /// @throws ServerError when one refuses, DictSizeError; nothing is in progress then
    void begin_save(const std::string& request);

    /// Whether finish_save() would not wait.
    bool is_saved();

    /// Waits until all have saved. @returns what each says
    /// @throws ServerError when one could not; nothing is in progress then
    std::vector<std::string> finish_save();

    /// Lets the tables of all servers shrink or not, when this step is in the parameters, and tells them that
    /// it is this day from now on. @returns rows that went
    std::uint64_t begin_day(std::uint32_t day, bool shrinks);

    /// What the servers have, as text of each.
    std::vector<std::string> counts();

    /// Waits until all that was pushed is in the parameters.
    void flush();

    /// Takes in what has arrived. Never waits.
    void progress();

    std::int64_t steps() const { return steps_; }
    int servers() const { return static_cast<int>(options_.servers.size()); }
    std::size_t width(std::uint32_t table) const { return options_.widths[table]; }
    /// Floats.
    std::size_t dense_size(int server) const { return options_.dense[static_cast<std::size_t>(server)]; }

  private:
    // A push that has grown to this size leaves while the step goes on.
    static constexpr std::size_t full_message = 256 * std::size_t{1024};

    /// Whether an open message leaves before so much more is put in: it has much, and would be too long.
    static bool leaves_before(std::size_t bytes, std::size_t more) {
        return bytes + more > full_message && bytes > full_message / 8;
    }

    class PullMessages;
    class RowsThatCome;

    struct Gradients {
        std::vector<std::int64_t> ids;
        std::vector<float> values;
        int lists = 0;             ///< each without repeated ids
        bool are_written = false;  ///< some of this step
    };

    struct Answer {
        int server = 0;
        MessageKind to = MessageKind::join;  ///< what was asked
        std::optional<comm::MessageBytes> message;
        bool is_begun = false;   ///< of a save
        std::size_t takers = 1;  ///< who has yet to forget() it
    };

    /// Sends a message to each server. @returns the requests, by server
    /// @param write puts in what the message to a server has; empty: only the header
    std::vector<std::uint64_t> send_all(MessageHeader header,
                                        const std::function<void(int, MessageWriter&)>& write);
    /// The same, and waits for their answers.
    /// @param read gets the answer of each, in their order; may be empty
    void ask_all(const MessageHeader& header, const std::function<void(int, MessageWriter&)>& write,
                 const std::function<void(int, const MessageReader&)>& read);
    std::uint64_t expect(int server, MessageKind to);
    Answer& answer_to(std::uint64_t request, int server, MessageKind kind);
    const comm::MessageBytes& wait_for(std::uint64_t request, const char* what);
    void wait_until_begun(std::uint64_t save);
    bool has_come(std::uint64_t request) const;
    bool have_come(std::span<const std::uint64_t> requests) const;
    /// Said by each taker. What has not come by then goes as soon as it comes.
    void forget(std::uint64_t request);
    template <class Condition>
    void wait_until(const Condition& condition, const char* what, int server);
    bool take_message();
    void note_sizes(int server, MessageReader reader);
    void check_room();
    void throw_when_passed();
    void take_turn(SizesTurn turn);
    std::uint64_t ask_sizes();  ///< @returns rows that were ever evicted
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
    std::vector<std::uint64_t> unapplied_;              ///< async: the push that each server has not applied
    std::vector<std::vector<float>> merged_;            ///< async: dense gradients of steps that wait
    int merged_steps_ = 0;
    std::vector<Gradients> gradients_;           ///< by table
    bool ids_are_new_ = false;                   ///< no row of those being written was in this step before
    std::vector<std::uint64_t> dense_requests_;  ///< by server; 0: none
    std::vector<std::int64_t> steps_asked_;      ///< async: of this trainer, in what is asked for, by server
    std::vector<std::int64_t> steps_known_;      ///< and in what was taken
    std::vector<bool> are_new_;                  ///< dense values that may be taken, by server
    std::vector<RowRequest> prefetched_;
    std::vector<std::uint64_t> saves_;  ///< by server; empty: no save is in progress
    TableRoom room_;
    std::optional<ServerError> refused_for_room_;  ///< by a server whose part alone is too large
    bool is_checking_room_ = false;
    bool space_is_reported_ = false;
    DistinctIds distinct_;
    struct AskedBatches {
        std::array<DistinctIds, 2> newest;  ///< one may be a prefetch
        std::size_t next = 0;
    };
    std::vector<AskedBatches> asked_;  ///< by table: what is pushed is mostly what was pulled
    std::vector<float> rows_to_push_;  ///< of a call, with shows and clicks
};

/// Adds up rows of the same id, in their order. Each id is then there once, in the order in which they come
/// first.
void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values);

}  // namespace dtrain::ps
