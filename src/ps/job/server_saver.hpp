// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>

#include "base/background.hpp"
#include "ps/job/server_plan.hpp"
#include "ps/server/running_save.hpp"
#include "ps/store/table_saver.hpp"

namespace dtrain::ps {

/// The save request that a trainer sends to all servers.
struct SaveOrder {
    std::filesystem::path folder;  ///< must exist and be visible to all servers
    /// Save only the rows that changed since the save of this name, which must be completed and the last one
    /// that changes are tracked from. Nothing: all rows.
    std::optional<std::string> since = std::nullopt;
    bool changes_follow = false;  ///< a later save will save the changes since this one
};

/// The request for Saver::begin().
std::string to_text(const SaveOrder& order);

/// The state of a save in progress. Not nested in the class, because clang cannot default-construct a nested
/// struct with member initializers there.
struct OrderedSave {
    SaveOrder order;
    std::int64_t steps = 0;
    std::size_t next_table = 0;     ///< the table whose pieces are taken next
    Background<std::string> dense;  ///< its entry for the manifest
};

/// Writes a server's part of a checkpoint into the folder that a trainer names: a thread writes a copy of the
/// dense part, and the rows of every table are written piece by piece.
///
/// Only the next request shows whether the trainer completed a save: whether or not it saves the changes
/// since that save. Until then, the rows of that save still count as changed.
class ServerSaver final : public Saver {
  public:
    /// @param plan, server must outlive this
    ServerSaver(const ServerPlan& plan, Server& server, const SaveMemory& memory = {});

    void begin(const std::string& request) override;
    bool step() override;
    bool is_written() const override;
    std::string finish() override;

  private:
    void settle(const std::optional<std::string>& completed);
    void begin(const SaveOrder& order);
    void abandon();

    const ServerPlan& plan_;
    Server& server_;
    std::deque<TableSaver> tables_;
    std::optional<OrderedSave> save_;     ///< in progress
    std::optional<std::string> written_;  ///< last save; unknown yet whether it was completed
    std::optional<std::string> base_;     ///< completed save that changes are tracked from
};

}  // namespace dtrain::ps
