// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "comm/message/transport.hpp"
#include "ps/server/parameter_shapes.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// Elements of a server's dense parameters.
struct DenseRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// Rows of a table that a trainer asks for.
struct AskedRows {
    std::uint32_t table = 0;
    std::span<const std::int64_t> ids;  ///< in the message
    bool reads_only = false;            ///< does not change the table
};

struct AskedValues {
    std::vector<std::variant<DenseRange, AskedRows>> parts;
    bool asks_dense = false;
    std::size_t answer_bytes = 0;  ///< expected size of the answer
};

struct AskedSave {
    std::string text;
};

struct AskedDay {
    std::uint32_t day = 0;
    bool shrinks = false;
};

/// What is answered once the parameters contain the steps that it asks for. Valid: it was checked when it was
/// parsed.
struct Request {
    comm::Message message;  ///< where its ids are
    MessageHeader header;
    std::variant<AskedValues, AskedSave, AskedDay> content;
};

/// @param message a 'pull', 'save' or 'day' @param reader of the message
/// @throws MessageError if it asks for something that there is not, or if the answer would be too long: a few
/// bytes can request any amount of memory
Request parse_request(comm::Message&& message, const MessageReader& reader, const ParameterShapes& shapes);

}  // namespace dtrain::ps
