// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ps/client/row_request.hpp"
#include "ps/client/server_channel.hpp"
#include "ps/client/table_shapes.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// Builds and sends the requests for rows of one step. A message may contain requests for several tables.
class PullMessages {
  public:
    /// @param shapes must outlive this, as must `channel`
    PullMessages(const TableShapes& shapes, ServerChannel& channel, std::int64_t step)
        : shapes_(&shapes),
          channel_(&channel),
          step_(step),
          open_(static_cast<std::size_t>(channel.servers())) {}

    std::int64_t step() const { return step_; }

    /// Adds to the open message to a server; sends that first if it is long.
    RowRequest::Part add(std::size_t server, const WantedRows& wanted);

    /// Sends a message of its own, at once.
    RowRequest::Part send(std::size_t server, const WantedRows& wanted);

    void send_all();

  private:
    struct Open {
        MessageWriter message;
        std::uint64_t request = 0;
        std::size_t sections = 0;
        std::size_t answer_bytes = 0;
    };

    Open begun(std::size_t server, const WantedRows& wanted);
    RowRequest::Part write(Open& open, const WantedRows& wanted);
    void send_open(std::size_t server);
    void send(std::size_t server, Open& open);

    const TableShapes* shapes_;
    ServerChannel* channel_;
    std::int64_t step_;
    std::vector<std::optional<Open>> open_;  ///< by server
};

}  // namespace dtrain::ps
