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

/// What a trainer asks all servers for.
struct SaveOrder {
    std::filesystem::path folder;  ///< is there, and all servers see it
    /// The rows that changed since the save of this name, which must be the last one that changes can be told
    /// from, and was completed. None: all rows.
    std::optional<std::string> since = std::nullopt;
    bool changes_follow = false;  ///< a later one will be since this one
};

/// For Saver::begin().
std::string to_text(const SaveOrder& order);

/// What a ServerSaver is at. Not in the class, where clang takes a struct whose members have values for one
/// that cannot be made.
struct OrderedSave {
    SaveOrder order;
    std::int64_t steps = 0;
    std::size_t next_table = 0;     ///< of which pieces are to be taken
    Background<std::string> dense;  ///< what the manifest says of it
};

/// Writes a server's part of a checkpoint into the folder that a trainer names: a copy of the dense part by a
/// thread, and the rows of every table piece by piece.
///
/// Whether a save was completed by the trainer shows when the next one is since it, or is not: until then its
/// rows count as changed still.
class ServerSaver final : public Saver {
  public:
    /// @param plan, server outlive this
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
    std::optional<std::string> written_;  ///< of which it is open whether it was completed
    std::optional<std::string> base_;     ///< was completed, and changes are counted from it
};

}  // namespace dtrain::ps
