// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the calls of a thread, innermost first, say about a rank whose operations nobody has recorded. Pure.
namespace dtrain::trace {

/// The calls of the main thread in the output of `py-spy dump`: "all_reduce (distributed_c10d.py:2700)".
std::vector<std::string> frames_of_py_spy(std::string_view output);
/// The same of gdb's `thread apply all bt`: "PMPI_Allreduce () from /usr/lib/libmpi.so.40".
std::vector<std::string> frames_of_gdb(std::string_view output);

/// A call in which ranks wait for each other.
struct WaitingCall {
    std::string name = {};    ///< "all_reduce", "MPI_Allreduce"
    std::string source = {};  ///< the program's line that called it, "train.py:88"; "": unknown
    friend bool operator==(const WaitingCall&, const WaitingCall&) = default;
};

/// The outermost call of a communication library (torch.distributed, Paddle, MPI, NCCL, gloo).
std::optional<WaitingCall> waiting_call(const std::vector<std::string>& stack);

/// Whether a WaitingCall of this name is about a message, which one other rank sends or receives.
bool is_call_of_messages(std::string_view name);

/// The innermost call of the program itself; of none the innermost one; "" of an empty stack.
std::string program_call(const std::vector<std::string>& stack);

/// The line of a program in Python whose call of a library in C has this source, an address:
/// "MPI.cpython-311-x86_64-linux-gnu.so+0x7159a" -> "train.py:88". Else the source as it is.
std::string line_behind(const std::string& source, const std::vector<std::string>& stack);

/// The line of the innermost call of the program itself, "train.py:88"; "" if there is none.
std::string program_line(const std::vector<std::string>& stack);

/// "loads data", "compiles", "evaluates", "writes a checkpoint", or "".
std::string phase_of(const std::vector<std::string>& stack);

}  // namespace dtrain::trace
