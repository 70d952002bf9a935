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

/// Notifications of an operator whose tensors are host copies of those on a GPU. On a CPU they are the
/// tensors themselves, and the functions do nothing. May be called as long as the State exists.
struct CopiedTensors {
    /// Call it before accessing parameters outside run(). Waits for the GPU.
    std::function<void()> bring = [] {};
    /// Call it in run() after writing these elements of a parameter.
    std::function<void(std::span<const float>)> written = [](std::span<const float>) {};
};

}  // namespace dtrain::program

namespace dtrain::detail {

/// Connection used by the operators of a trainer: send, recv, pull_rows ...
class ServerLink {
  public:
    virtual ~ServerLink() = default;

    /// Called before the kernels of a program are created, in program order.
    virtual void begin_program() {}

    /// A kernel for one of these operators. @throws ProgramError if the servers do not have what it names
    virtual std::unique_ptr<kernels::Kernel> make_kernel(const Operator& op,
                                                         const kernels::KernelArguments& arguments,
                                                         const program::CopiedTensors& copied) = 0;

    /// Called between operators: progresses pending communication.
    virtual void progress() = 0;
};

}  // namespace dtrain::detail

namespace dtrain::program {

using detail::ServerLink;

/// send, send_barrier, recv, fetch_barrier, pull_rows, push_rows, update_rows, exchange_changes
bool needs_servers(std::string_view operator_type);

}  // namespace dtrain::program
