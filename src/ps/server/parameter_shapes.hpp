// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// The sizes of what a server holds: what a message to it may be about.
struct ParameterShapes {
    struct Table {
        std::size_t width = 0;
        bool has_statistics = false;

        /// Floats per id in a push.
        std::size_t pushed_width() const { return ps::pushed_width(width, has_statistics); }
    };

    std::size_t dense = 0;  ///< number of floats
    std::vector<Table> tables;

    /// @throws MessageError if there is no such table
    const Table& table(std::uint32_t number) const;
};

}  // namespace dtrain::ps
