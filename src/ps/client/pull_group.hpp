// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/client/batch_ids.hpp"
#include "ps/client/client.hpp"

namespace dtrain::ps {

/// Lookups of a program whose ids are known before the first of them runs: the first one requests the rows of
/// all, and each takes its own when it runs.
class PullGroup {
  public:
    /// @param client must outlive this
    explicit PullGroup(Client& client) : client_(&client) {}

    /// @returns the number of this lookup
    std::size_t add(std::uint32_t table, BatchIds ids, bool reads_only);

    /// Waits for the rows. @param out rows of the whole batch; padding becomes zeros
    void take(std::size_t number, std::span<float> out);

  private:
    struct Member {
        std::uint32_t table;
        BatchIds ids;
        bool reads_only;
        std::optional<Client::RowRequest> asked = {};
    };

    void ask_all();

    Client* client_;
    std::vector<Member> members_;
    std::vector<float> rows_;
};

}  // namespace dtrain::ps
