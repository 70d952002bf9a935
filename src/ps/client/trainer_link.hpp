// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <dtrain/executor.hpp>

#include "program/server_link.hpp"

namespace dtrain::ps {

/// What a trainer has to do with servers besides running its program.
class TrainerLink : public program::ServerLink {
  public:
    /// Sets the dense parameters of these tensors to what the servers have now. Waits.
    virtual void pull_parameters(const State& state) = 0;

    /// Asks for the rows that the next batch will want, while this step goes on.
    /// @throws ProgramError when there is no such table
    virtual void prefetch(const std::string& table, std::span<const std::int64_t> ids) = 0;

    /// Waits until all that this trainer has learned is in the servers' parameters.
    virtual void finish() = 0;
};

}  // namespace dtrain::ps
