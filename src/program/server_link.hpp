// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <dtrain/program.hpp>

#include "kernels/kernel.hpp"

namespace dtrain::program {

/// What the operators of a trainer talk to: send, recv, pull_rows ...
class ServerLink {
  public:
    virtual ~ServerLink() = default;

    /// A kernel for one of these operators. @throws ProgramError when the servers do not have what it names
    virtual std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                         const kernels::KernelArguments& arguments) = 0;

    /// Called between operators: what is under way goes on.
    virtual void poke() = 0;
};

/// send, send_barrier, recv, fetch_barrier, pull_rows, push_rows, update_rows, exchange_changes
bool needs_servers(std::string_view operator_type);

}  // namespace dtrain::program
