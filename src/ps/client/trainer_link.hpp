// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <dtrain/checkpoint.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/parameter_servers.hpp>

#include "program/exchange/server_link.hpp"

namespace dtrain::ps {

/// What a trainer does with the servers besides running its program.
class TrainerLink : public detail::ServerLink {
  public:
    /// Sets the dense parameters in these tensors to the servers' current values. Waits for them.
    virtual void pull_parameters(const State& state) = 0;

    /// Requests the rows that the next batch will need, while this step runs.
    /// @throws ProgramError if there is no such table
    virtual void prefetch(std::span<const Lookup> lookups) = 0;

    /// Waits until all updates of this trainer are in the servers' parameters.
    virtual void finish() = 0;

    /// Stores the state of rows that only this trainer has (geo mode, see GeoLink). No requests may be
    /// pending.
    virtual void store_rows(Checkpoint& /*into*/) const {}

    /// @throws UsageError if it belongs to other tables
    virtual void restore_rows(const Checkpoint& /*from*/) {}
};

}  // namespace dtrain::ps
