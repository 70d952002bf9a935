// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <dtrain/program.hpp>

#include "kernels/kernel.hpp"

namespace dtrain::program {

/// What an operator has to say where its tensors are copies of those on a GPU. On a CPU they are the tensors
/// themselves, and nobody listens. May be called as long as there is the State.
struct CopiedTensors {
    /// Before it reads or writes parameters beyond its run(). Waits for the GPU.
    std::function<void()> bring = [] {};
    /// It has written these elements of a parameter, in its run().
    std::function<void(std::span<const float>)> written = [](std::span<const float>) {};
};

/// What the operators of a trainer talk to: send, recv, pull_rows ...
class ServerLink {
  public:
    virtual ~ServerLink() = default;

    /// Called before the kernels of a program are made, which are made in its order.
    virtual void begin_program() {}

    /// A kernel for one of these operators. @throws ProgramError when the servers do not have what it names
    virtual std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                         const kernels::KernelArguments& arguments,
                                                         const CopiedTensors& copied) = 0;

    /// Called between operators: what is under way goes on.
    virtual void progress() = 0;
};

/// send, send_barrier, recv, fetch_barrier, pull_rows, push_rows, update_rows, exchange_changes
bool needs_servers(std::string_view operator_type);

}  // namespace dtrain::program
