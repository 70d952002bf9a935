// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/transpiler.hpp>

#include "program/server_link.hpp"
#include "ps/client/client.hpp"

namespace dtrain::ps {

/// Lets the operators of a trainer's program talk to a Client.
class ExecutorLink final : public program::ServerLink {
  public:
    /// @param placements in the order in which each server has its blocks
    /// @param client outlives this and its kernels
    ExecutorLink(const std::vector<DistributeTranspiler::Placement>& placements,
                 std::vector<std::string> tables, Client& client);

    std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                 const kernels::KernelArguments& arguments) override;
    void poke() override { client_->poke(); }

    /// Sets the dense parameters of these tensors to what the servers have now. Waits.
    void pull_parameters(const State& state);

    /// @throws ProgramError when there is none
    std::uint32_t table_number(const std::string& name) const;

  private:
    /// A block of a variable: where it is in the variable, and on which server.
    struct Part {
        std::size_t in_variable;
        std::size_t count;
        int server;
        std::size_t on_server;
    };
    const std::vector<Part>& parts_of(const std::string& variable) const;
    void receive(std::span<float> values, const std::vector<Part>& parts);

    std::unique_ptr<kernels::Kernel> make_send(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_recv(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_pull(const Operator& op, const kernels::KernelArguments& arguments);
    std::unique_ptr<kernels::Kernel> make_push(const Operator& op, const kernels::KernelArguments& arguments);

    std::map<std::string, std::vector<Part>, std::less<>> parts_;
    std::vector<std::string> tables_;
    Client* client_;
};

}  // namespace dtrain::ps
