// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ps/client/client.hpp"
#include "ps/client/local_rows.hpp"
#include "ps/client/parameter_parts.hpp"
#include "ps/client/trainer_link.hpp"

namespace dtrain::ps {

/// A trainer in geo mode: it updates its own copy of the parameters and exchanges changes with the servers.
///
/// For each parameter it keeps the value last known of the servers. When it sends its fraction of its
/// changes, it continues as if the servers had its own values. Their answer, whenever it arrives, gives the
/// servers' values; the difference from the values known so far is added to the current ones.
class GeoLink final : public TrainerLink {
  public:
    /// @param tables by number, empty
    /// @param trainers number of trainers of the job
    /// @param client must outlive this and its kernels
    GeoLink(ParameterParts parts, std::vector<LocalRows> tables, int trainers, Client& client);

    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                 const kernels::KernelArguments& arguments,
                                                 const program::CopiedTensors& copied) override;
    void progress() override { client_->progress_at_times(); }

    /// Discards what this trainer has changed and not sent.
    void pull_parameters(const State& state) override;
    void prefetch(std::span<const Lookup> lookups) override;

    /// Sends the changes, and takes the servers' values after that.
    void finish() override;

    /// Stores the optimizer state of the rows that were looked up, and the number of steps: for each table
    /// TABLE.ids and TABLE.state. Stores nothing if the optimizer has no state.
    void store_rows(Checkpoint& into) const override;
    /// Call before the first step.
    void restore_rows(const Checkpoint& from) override;

  private:
    /// Requested rows.
    struct Asked {
        std::vector<std::byte*> rows;
        Client::RowRequest request;
    };
    /// Rows of a table that must be requested.
    struct Missing {
        std::uint32_t table = 0;
        std::vector<std::byte*> rows;
    };
    struct Table {
        LocalRows rows;
        std::vector<Asked> asked = {};      ///< requested rows that are not yet taken
        std::optional<Asked> changed = {};  ///< the rows whose changes were sent
    };
    /// A dense parameter that this trainer updates.
    struct Parameter {
        std::span<float> values;
        ParameterParts::Parts parts;
    };

    std::unique_ptr<kernels::Kernel> make_pull(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_push(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_update(const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_exchange(const Operator& op,
                                                   const kernels::KernelArguments& arguments,
                                                   const program::CopiedTensors& copied);

    LocalRows::Rows rows_to_read(std::uint32_t table, std::span<const std::int64_t> ids);
    std::vector<Asked> ask(std::vector<Missing> missing);
    void ask_early(std::vector<Missing> missing);
    void take(const Asked& asked);

    void end_step(std::int64_t every);
    bool have_answers_come() const;
    void send_changes();
    void take_answers();
    void renew(const Parameter& parameter);

    ParameterParts parts_;
    std::vector<Table> tables_;
    float fraction_;
    Client* client_;
    std::vector<Parameter> parameters_;
    program::CopiedTensors copied_;          ///< host copies of parameters_
    std::vector<std::vector<float>> known_;  ///< the servers' dense parameters as last known, by server
    std::int64_t step_ = 0;
    std::int64_t unsent_steps_ = 0;
    bool waits_for_answers_ = false;
    std::vector<float> changes_;
    std::vector<float> taken_;  // rows of an answer
};

}  // namespace dtrain::ps
