// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/client/row_request.hpp"
#include "ps/client/server_channel.hpp"
#include "ps/client/table_shapes.hpp"

namespace dtrain::ps {

/// Reads the rows of a request, in any order of servers, but sequentially for each server. Waits for messages
/// as needed, and releases each message once it is read.
class PulledRows {
  public:
    /// All arguments must outlive this.
    PulledRows(const RowRequest& asked, const TableShapes& shapes, ServerChannel& channel)
        : asked_(&asked),
          channel_(&channel),
          width_(shapes.width(asked.table)),
          max_(shapes.message_rows(asked.table)),
          parts_(asked.counts.size()) {}
    PulledRows(const PulledRows&) = delete;
    PulledRows& operator=(const PulledRows&) = delete;
    ~PulledRows();

    const float* next(std::size_t server) {
        auto& rest = parts_[server].rest;
        if (rest.empty()) open(server);
        const auto* const row = rest.data();
        rest = rest.subspan(width_);
        return row;
    }

    /// The remaining rows of the current message, or those of the next one.
    std::span<const float> next_of_message(std::size_t server);

  private:
    struct Part {
        std::uint64_t request = 0;
        std::size_t messages = 0;
        std::span<const float> rest;
    };

    void open(std::size_t server);

    const RowRequest* asked_;
    ServerChannel* channel_;
    std::size_t width_;
    std::size_t max_;  ///< rows in a message
    std::vector<Part> parts_;
};

}  // namespace dtrain::ps
