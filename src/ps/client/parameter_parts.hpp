// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <dtrain/transpiler.hpp>

namespace dtrain::ps {

/// A block of a variable: its offset in the variable and on its server.
struct ParameterPart {
    std::size_t in_variable;
    std::size_t count;
    int server;
    std::size_t on_server;
};

/// Maps a trainer's parameters to their blocks on the servers.
class ParameterParts {
  public:
    /// @param placements in the order of the blocks on each server
    ParameterParts(const std::vector<DistributeTranspiler::Placement>& placements,
                   std::vector<std::string> tables);

    using Parts = std::vector<ParameterPart>;

    /// @throws ProgramError if the servers have no such parameter
    const Parts& of(const std::string& variable) const;

    /// By variable.
    const std::map<std::string, Parts, std::less<>>& all() const { return parts_; }

    /// @throws ProgramError if there is no such table
    std::uint32_t table_number(const std::string& name) const;

    /// By number.
    const std::vector<std::string>& tables() const { return tables_; }

  private:
    std::map<std::string, Parts, std::less<>> parts_;
    std::vector<std::string> tables_;
};

}  // namespace dtrain::ps
