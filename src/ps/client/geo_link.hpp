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

/// A trainer in geo mode: it updates parameters of its own and exchanges changes with the servers.
///
/// Of each parameter it knows what the servers had. When it sends its share of what it has changed, it goes
/// on as if they had all of that; the answer, whenever it comes, says what they have, and the difference is
/// added to what it has by then.
class GeoLink final : public TrainerLink {
  public:
    /// @param tables by number, empty
    /// @param trainers of the job
    /// @param client outlives this and its kernels
    GeoLink(ParameterParts parts, std::vector<LocalRows> tables, int trainers, Client& client);

    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                 const kernels::KernelArguments& arguments,
                                                 const program::CopiedTensors& copied) override;
    void progress() override { client_->progress(); }

    /// What this trainer has changed and not sent is lost.
    void pull_parameters(const State& state) override;
    void prefetch(std::span<const Lookup> lookups) override;

    /// Sends what was changed, and takes what the servers have then.
    void finish() override;

    /// What the optimizer keeps of the rows that were looked up, and how many steps it has seen: of each
    /// table TABLE.ids and TABLE.state. Nothing when it keeps nothing.
    void store_rows(Checkpoint& into) const override;
    /// Before the first step.
    void restore_rows(const Checkpoint& from) override;

  private:
    /// Rows that were asked for.
    struct Asked {
        std::vector<std::byte*> rows;
        Client::RowRequest request;
    };
    /// Rows of a table that are to be asked for.
    struct Missing {
        std::uint32_t table = 0;
        std::vector<std::byte*> rows;
    };
    struct Table {
        LocalRows rows;
        std::vector<Asked> asked = {};      ///< before a batch needs them
        std::optional<Asked> changed = {};  ///< those whose changes were sent
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
    float share_;
    Client* client_;
    std::vector<Parameter> parameters_;
    program::CopiedTensors copied_;          ///< those are
    std::vector<std::vector<float>> known_;  ///< what each server had of its dense parameters
    std::int64_t step_ = 0;
    std::int64_t unsent_steps_ = 0;
    bool waits_for_answers_ = false;
    std::vector<float> changes_;
    std::vector<float> taken_;  // rows of an answer
};

}  // namespace dtrain::ps
