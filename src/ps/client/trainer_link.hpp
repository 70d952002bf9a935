// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <dtrain/checkpoint.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>

#include "program/server_link.hpp"

namespace dtrain::ps {

/// What a trainer has to do with servers besides running its program.
class TrainerLink : public program::ServerLink {
  public:
    /// Sets the dense parameters of these tensors to what the servers have now. Waits.
    virtual void pull_parameters(const State& state) = 0;

    /// Asks for the rows that the next batch will want, while this step goes on.
    /// @throws ProgramError when there is no such table
    virtual void prefetch(std::span<const Lookup> lookups) = 0;

    /// Waits until all that this trainer has learned is in the servers' parameters.
    virtual void finish() = 0;

    /// What this trainer alone has of rows: in geo mode, as GeoLink has it. Nothing is to be on the way.
    virtual void store_rows(Checkpoint& /*into*/) const {}

    /// @throws UsageError when it is of other tables
    virtual void restore_rows(const Checkpoint& /*from*/) {}
};

}  // namespace dtrain::ps
