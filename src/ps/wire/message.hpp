// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/error.hpp>

#include "comm/transport.hpp"

/// What trainers and servers write to each other: a header of fixed length, then sections. Numbers are as
/// this machine has them; the other one must have them alike, which the header's mark shows. Everything
/// begins at a multiple of 8 bytes.
namespace dtrain::ps {

inline constexpr std::uint16_t protocol_version = 5;

enum class MessageKind : std::uint16_t {
    join = 1,  ///< trainer: its number, and the layout that it expects, as text
    accept,    ///< server: the step at which it stands
    pull,      ///< trainer: wants parameters or rows
    values,    ///< server: what a pull asked for, section by section
    push,      ///< trainer: gradients
    applied,   ///< server: a push that ended steps is in the parameters
    save,      ///< trainer: what of the server to write into which folder, as text
    saving,    ///< server: what it will write is fixed, whatever comes now
    saved,     ///< server: what it wrote there, as text
    day,       ///< trainer: whether tables shrink, and which day it is then; waits as a pull does
    begun,     ///< server: it is; step: rows that went
    count,     ///< trainer: wants to know what the tables have
    counted,   ///< server: that, as text
    sizes,     ///< trainer: wants to know how many rows tables have that have a limit; see SizesTurn
    sized,     ///< server: that, as sizes
    leave,     ///< trainer: nothing will come any more
    farewell,  ///< server: has seen that
    failed,    ///< server: why it could not do what was asked, as text
    abandon,   ///< trainer: ends without 'leave', and gets no answer
    idle       ///< trainer: a step of the others in which it has no gradients; gets no answer
};

/// "pull", "push", ...
std::string_view to_string(MessageKind kind);

/// Whether a server that does what `asked` says answers with `kind`; what it could not save it says so, too.
bool is_answer(MessageKind kind, MessageKind asked);

/// Of a 'sizes': whoever is about to say that a table has too many rows takes the turn at the first server,
/// so that no other trainer says so too. Who asks for it meanwhile is answered when it is given back.
enum class SizesTurn : std::uint32_t { none, takes, gives_back };

/// Steps that may end with one push.
inline constexpr std::uint32_t max_steps_of_push = 1'000'000;

struct MessageHeader {
    MessageKind kind = MessageKind::join;
    /// push: how many steps of the trainer end with it, max_steps_of_push at most; their gradients were
    /// added up, and schedules count them all. 0: more of the same step follows. sizes: a SizesTurn. failed:
    /// 1 when it is for a table's dict_size.
    std::uint32_t steps = 0;
    /// pull, save: how many steps of every trainer must be in what it gets. accept: steps so far.
    std::int64_t step = 0;
    /// Chosen by the trainer; the answer has it too.
    std::uint64_t request = 0;
};

/// A message that is not one of ours, or says impossible things.
class MessageError : public Error {
  public:
    using Error::Error;
};

/// What to say, and what to do, of a message that has more bytes than may be sent.
std::string too_long(MessageKind kind, int to, std::size_t bytes, std::size_t max);

/// The number that stands for the dense parameters where others have a table.
inline constexpr std::uint32_t dense_parameters = UINT32_MAX;

/// Floats that come with each id of a push: its gradient and, for a table that keeps statistics, how often it
/// was shown and clicked on.
constexpr std::size_t pushed_width(std::size_t width, bool has_statistics) {
    return has_statistics ? width + 2 : width;
}

struct Section {
    std::uint32_t table = dense_parameters;
    bool reads_only = false;  ///< pull: changes nothing in the table
    /// push: what the trainer says of its rows of this table in this step. Who believes it and is told wrong
    /// updates a row twice.
    bool has_each_id_once = false;
    std::uint64_t first = 0;  ///< dense: element of the server's parameters, one after the other; values of
                              ///< rows, and sizes: rows that the table has here
    std::uint64_t count = 0;  ///< elements, or ids; sizes: rows that it has evicted, ever
    std::span<const std::byte> payload;

    /// The first `count` of the payload. @throws MessageError when it is shorter
    std::span<const std::int64_t> ids() const;
    /// `values` floats behind the ids (rows), or at the beginning (dense, values).
    /// @throws MessageError when the payload has another length
    std::span<const float> floats_behind_ids(std::size_t values) const;
    std::span<const float> floats(std::size_t values) const;
};

/// Reads a message of whatever bytes.
class MessageReader {
  public:
    /// @throws MessageError
    explicit MessageReader(std::span<const std::byte> bytes);

    const MessageHeader& header() const { return header_; }

    /// The next one; none behind the last. @throws MessageError
    std::optional<Section> next();

    /// Of messages that are text. @throws MessageError
    std::string_view text() const;

  private:
    MessageHeader header_;
    std::span<const std::byte> rest_;
};

/// Writes a message into memory that grows. What an add_ function returns is to be written before the next
/// call.
class MessageWriter {
  public:
    /// @param capacity bytes that are likely to be needed
    MessageWriter(comm::Transport& transport, const MessageHeader& header, std::size_t capacity = 0);

    /// Changes how many steps end with it.
    void set_steps(std::uint32_t steps);
    void set_request(std::uint64_t request);

    void add_text(std::string_view text);
    void add_day(std::uint32_t day, bool shrinks);
    std::span<float> add_dense(std::uint64_t first, std::uint64_t count);
    /// Asks for elements.
    void ask_dense(std::uint64_t first, std::uint64_t count);
    /// Asks for rows.
    std::span<std::int64_t> ask_rows(std::uint32_t table, std::uint64_t count, bool reads_only);
    struct Rows {
        std::span<std::int64_t> ids;
        std::span<float> values;
    };
    /// Gradients of rows. @param width of what comes with each id
    Rows add_rows(std::uint32_t table, std::uint64_t count, std::uint64_t width,
                  bool has_each_id_once = false);
    /// The rows that were asked for.
    std::span<float> add_values(std::uint32_t table, std::uint64_t count, std::uint64_t width);
    /// Of the values that were added last.
    void set_size(std::uint64_t rows);
    /// A size alone.
    void add_size(std::uint32_t table, std::uint64_t rows, std::uint64_t evicted);

    /// Of a message with one section of so many ids, and `width` floats with each.
    static std::size_t bytes_of_rows(std::uint64_t count, std::uint64_t width);

    std::size_t size() const { return content_.size(); }
    /// @throws MessageError naming the size and what to do when it is too long to be sent
    void send(int to);

  private:
    std::span<std::byte> add_section(const Section& section, std::size_t payload);

    comm::Transport* transport_;
    comm::MessageBytes content_;
    std::size_t last_section_ = 0;  ///< begins there
};

/// Sends a message that has nothing but its header and perhaps text.
void send_message(comm::Transport& transport, int to, const MessageHeader& header,
                  std::string_view text = {});

}  // namespace dtrain::ps
