// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "ps/client/client.hpp"
#include "ps/client/parameter_parts.hpp"
#include "ps/client/pull_group.hpp"
#include "ps/client/trainer_link.hpp"

namespace dtrain::ps {

/// Connects the operators of a trainer's program to a Client.
class ExecutorLink final : public TrainerLink {
  public:
    /// @param client must outlive this and its kernels
    ExecutorLink(ParameterParts parts, Client& client);

    void begin_program() override;
    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                 const kernels::KernelArguments& arguments,
                                                 const program::CopiedTensors& copied) override;
    void progress() override { client_->progress_at_times(); }

    void pull_parameters(const State& state) override;
    void prefetch(std::span<const Lookup> lookups) override;
    void finish() override { client_->flush(); }

  private:
    void receive(std::span<float> values, const ParameterParts::Parts& parts,
                 const program::CopiedTensors& copied);

    std::unique_ptr<kernels::Kernel> make_send(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_recv(const Operator& op, const kernels::KernelArguments& arguments,
                                               const program::CopiedTensors& copied);
    std::unique_ptr<kernels::Kernel> make_pull(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_push(const Operator& op, const kernels::KernelArguments& arguments);

    ParameterParts parts_;
    Client* client_;
    std::shared_ptr<PullGroup> fed_;  ///< for the program whose kernels are being made
};

}  // namespace dtrain::ps
