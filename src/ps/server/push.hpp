// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "comm/message/transport.hpp"
#include "ps/server/parameter_shapes.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

struct DenseGradients {
    std::uint64_t first = 0;
    std::span<const float> values;  ///< in the message
};

struct RowGradients {
    std::uint32_t table = 0;
    std::span<const std::int64_t> ids;  ///< in the message
    std::span<const float> rows;        ///< ParameterShapes::Table::pushed_width() floats per id
    bool has_each_id_once = false;      ///< see Section
};

/// Gradients of a trainer. Valid: they were checked when they were parsed.
struct Push {
    comm::Message message;  ///< where the numbers are
    std::vector<std::variant<DenseGradients, RowGradients>> parts;
};

/// @throws MessageError if they do not fit the parameters
Push parse_push(comm::Message&& message, MessageReader reader, const ParameterShapes& shapes);

}  // namespace dtrain::ps
