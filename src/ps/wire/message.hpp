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

#include "comm/message/transport.hpp"

/// Messages between trainers and servers: a header of fixed length, then sections. Numbers are in this
/// machine's representation; the header's mark shows whether the peer uses the same. Everything is aligned to
/// 8 bytes.
namespace dtrain::ps {

inline constexpr std::uint16_t protocol_version = 5;

enum class MessageKind : std::uint16_t {
    join = 1,  ///< trainer: its number, and the layout that it expects, as text
    accept,    ///< server: the step that it is at
    pull,      ///< trainer: requests parameters or rows
    values,    ///< server: the answer to a pull, section by section
    push,      ///< trainer: gradients
    applied,   ///< server: a push that ended steps has been applied
    save,      ///< trainer: what to save into which folder, as text
    saving,    ///< server: what it saves is fixed, whatever comes from now on
    saved,     ///< server: what it has saved, as text
    day,       ///< trainer: the new day, and whether tables shrink; waits as a pull does
    begun,     ///< server: the day has begun; step: number of removed rows
    count,     ///< trainer: requests the counts
    counted,   ///< server: the counts, as text
    sizes,     ///< trainer: requests the row counts of tables with a limit; see ReportLock
    sized,     ///< server: the row counts
    leave,     ///< trainer: sends nothing any more
    farewell,  ///< server: acknowledges 'leave'
    failed,    ///< server: why a request failed, as text
    abandon,   ///< trainer: ends without 'leave'; no answer
    idle       ///< trainer: has no gradients for a step of the others; no answer
};

/// "pull", "push", ...
std::string_view to_string(MessageKind kind);

/// Whether `kind` is an answer to the request `asked`. 'failed' counts as an answer only to a 'save'.
bool is_answer(MessageKind kind, MessageKind asked);

/// In a 'sizes': a trainer that is about to report that a table has too many rows takes the turn at the first
/// server, so that no other trainer reports it too. Other requests for the turn are answered when it is given
/// back.
enum class ReportLock : std::uint32_t { none, takes, gives_back };

/// Maximum number of steps that one push may end.
inline constexpr std::uint32_t max_steps_of_push = 1'000'000;

struct MessageHeader {
    MessageKind kind = MessageKind::join;
    /// push: how many steps of the trainer end with it, at most max_steps_of_push; their gradients were
    /// summed, and schedules count all of them. 0: the same step continues. sizes: a ReportLock. failed: 1 if
    /// a table exceeds its dict_size.
    std::uint32_t steps = 0;
    /// pull, save: how many steps of every trainer the values must contain. accept: steps so far.
    std::int64_t step = 0;
    /// Chosen by the trainer; repeated in the answer.
    std::uint64_t request = 0;
};

/// The message is not a dtrain message, or has impossible content.
class MessageError : public Error {
  public:
    using Error::Error;
};

/// The error text, with the remedy, for a message that exceeds the size limit.
std::string too_long(MessageKind kind, int to, std::size_t bytes, std::size_t max);

/// The table number that stands for the dense parameters.
inline constexpr std::uint32_t dense_parameters = UINT32_MAX;

/// Floats per id in a push: its gradient and, for a table that keeps statistics, its numbers of shows and
/// clicks.
constexpr std::size_t pushed_width(std::size_t width, bool has_statistics) {
    return has_statistics ? width + 2 : width;
}

struct Section {
    std::uint32_t table = dense_parameters;
    bool reads_only = false;  ///< pull: does not change the table
    /// push: the trainer asserts that each id occurs once in its rows of this table in this step. If that is
    /// wrong, a row is updated twice.
    bool has_each_id_once = false;
    std::uint64_t first = 0;  ///< dense: offset in the server's concatenated parameters; values of rows, and
                              ///< sizes: number of rows of the table on this server
    std::uint64_t count = 0;  ///< number of elements or ids; sizes: number of rows evicted so far
    std::span<const std::byte> payload;

    /// The first `count` numbers of the payload. @throws MessageError if it is shorter
    std::span<const std::int64_t> ids() const;
    /// The `values` floats after the ids (rows), or at the start (dense, values).
    /// @throws MessageError if the payload has another length
    std::span<const float> floats_behind_ids(std::size_t values) const;
    std::span<const float> floats(std::size_t values) const;
};

/// Parses a message from untrusted bytes.
class MessageReader {
  public:
    /// @throws MessageError
    explicit MessageReader(std::span<const std::byte> bytes);

    const MessageHeader& header() const { return header_; }

    /// The next section; nothing after the last. @throws MessageError
    std::optional<Section> next();

    /// The content of a text message. @throws MessageError
    std::string_view text() const;

  private:
    MessageHeader header_;
    std::span<const std::byte> rest_;
};

/// Builds a message in growing memory. The spans that add_ and ask_ functions return must be filled before
/// the next call.
class MessageWriter {
  public:
    /// @param capacity expected size in bytes
    MessageWriter(comm::Transport& transport, const MessageHeader& header, std::size_t capacity = 0);

    /// Changes how many steps end with this message.
    void set_steps(std::uint32_t steps);
    void set_request(std::uint64_t request);

    void add_text(std::string_view text);
    void add_day(std::uint32_t day, bool shrinks);
    std::span<float> add_dense(std::uint64_t first, std::uint64_t count);
    /// Requests elements.
    void ask_dense(std::uint64_t first, std::uint64_t count);
    /// Requests rows.
    std::span<std::int64_t> ask_rows(std::uint32_t table, std::uint64_t count, bool reads_only);
    struct Rows {
        std::span<std::int64_t> ids;
        std::span<float> values;
    };
    /// Adds gradients of rows. @param width floats per id
    Rows add_rows(std::uint32_t table, std::uint64_t count, std::uint64_t width,
                  bool has_each_id_once = false);
    /// Adds the requested rows.
    std::span<float> add_values(std::uint32_t table, std::uint64_t count, std::uint64_t width);
    /// Sets the table's row count in the values added last.
    void set_size(std::uint64_t rows);
    /// Adds a section with only a size.
    void add_size(std::uint32_t table, std::uint64_t rows, std::uint64_t evicted);

    /// Size of a message with one section of `count` ids and `width` floats per id.
    static std::size_t bytes_of_rows(std::uint64_t count, std::uint64_t width);

    std::size_t size() const { return content_.size(); }
    /// @throws MessageError with the size and the remedy if it is too long to be sent
    void send(int to);

  private:
    std::span<std::byte> add_section(const Section& section, std::size_t payload);

    comm::Transport* transport_;
    comm::MessageBytes content_;
    std::size_t last_section_ = 0;  ///< offset at which it begins
};

/// Sends a message with only a header and, optionally, text.
void send_message(comm::Transport& transport, int to, const MessageHeader& header,
                  std::string_view text = {});

}  // namespace dtrain::ps
