// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace/stack_reading.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::trace {
namespace {

struct Frame {
    std::string_view function = {};
    std::string_view file = {};  ///< with its line, "train.py:88"; "": unknown
};

/// "f (file.py:3)" of py-spy, "f () at file.c:3" and "f () from library.so" of gdb.
Frame frame_of(std::string_view text) {
    // Arguments of templates have blanks; "f<A, B> (...)".
    Frame frame{.function = text.substr(0, std::min(text.find(" ("), text.size()))};
    if (const auto at = text.rfind(") at "); at != std::string_view::npos)
        frame.file = text.substr(at + 5);
    else if (text.ends_with(')') && text.find(" (") != std::string_view::npos)
        frame.file = text.substr(text.rfind(" (") + 2, text.size() - text.rfind(" (") - 3);
    return frame;
}

bool contains_any(std::string_view text, std::span<const std::string_view> parts) {
    return std::ranges::any_of(parts, [&](auto part) { return text.find(part) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 10> communication_files{
    "distributed_c10d.py",     "torch/distributed/",
    "paddle/distributed/",     "horovod/",
    "dtrain/_communicator",    "dtrain/torch/",
    "torch/nn/parallel/",      "torch/autograd/graph.py",
    "tensor_patch_methods.py", "paddle/autograd/backward_mode.py"};

// A backward pass waits for the sums of gradients that DistributedDataParallel (Paddle: DataParallel) starts
// in it.
constexpr std::array<std::string_view, 29> waiting_functions{"all_reduce",
                                                             "allreduce",
                                                             "all_gather",
                                                             "allgather",
                                                             "reduce_scatter",
                                                             "reduce",
                                                             "broadcast",
                                                             "barrier",
                                                             "all_to_all",
                                                             "alltoall",
                                                             "gather",
                                                             "scatter",
                                                             "send",
                                                             "recv",
                                                             "receive",
                                                             "irecv",
                                                             "wait",
                                                             "batch_isend_irecv",
                                                             "synchronize",
                                                             "grouped_all",
                                                             "join",
                                                             "_all_gather",
                                                             "_allreduce",
                                                             "reduceScatter",
                                                             "_engine_run_backward",
                                                             "backward",
                                                             "init_",
                                                             "new_group",
                                                             "destroy_process_group"};

/// Files that are not the program's own. py-spy names files as they are imported.
constexpr std::array<std::string_view, 22> library_files{
    "torch/",           "paddle/",       "horovod/",     "dtrain/",       "numpy/",   "lightning/",
    "accelerate/",      "transformers/", "mpi4py/",      "site-packages", "<frozen",  "lib/python3",
    "threading.py",     "contextlib.py", "selectors.py", "socket.py",     "queue.py", "subprocess.py",
    "multiprocessing/", "concurrent/",   "importlib/",   "runpy.py"};

bool is_of_python(const Frame& frame) {
    return frame.file.find(".py:") != std::string_view::npos;
}

bool is_of_program(const Frame& frame) {
    return !frame.file.empty() && !contains_any(frame.file, library_files) &&
           !frame.file.starts_with("../") && !frame.file.starts_with("./") &&
           !frame.file.starts_with("/usr/include/");
}

/// Of C and C++: "MPI_Allreduce" of "PMPI_Allreduce", "ncclAllReduce", "gloo::barrier"; else "".
std::string native_wait(std::string_view function) {
    if (function.starts_with("PMPI_")) function.remove_prefix(1);
    if (function.starts_with("MPI_") || function.starts_with("gloo::")) return std::string(function);
    const bool is_nccl =
        function.starts_with("nccl") && function.size() > 4 && function[4] >= 'A' && function[4] <= 'Z';
    return is_nccl ? std::string(function) : std::string();
}

/// "backward" of "monkey_patch_tensor.<locals>.backward".
std::string_view without_enclosing(std::string_view function) {
    constexpr std::string_view mark = "<locals>.";
    const auto last = function.rfind(mark);
    return last == std::string_view::npos ? function : function.substr(last + mark.size());
}

std::string python_wait(const Frame& frame) {
    if (!is_of_python(frame) || !contains_any(frame.file, communication_files)) return {};
    const auto function = without_enclosing(frame.function);
    const bool waits =
        std::ranges::any_of(waiting_functions, [&](auto name) { return function.starts_with(name); });
    return waits ? std::string(function) : std::string();
}

/// "clock_nanosleep" of "__GI___clock_nanosleep".
std::string_view without_prefix(std::string_view function) {
    if (function.starts_with("__GI_")) function.remove_prefix(5);
    while (function.starts_with('_') && function.size() > 1) function.remove_prefix(1);
    return function;
}

/// Frames of Python's interpreter, as a debugger sees them, in place of the program's.
bool shows_interpreter(const std::vector<std::string>& stack) {
    return std::ranges::any_of(stack, [](std::string_view text) {
        return frame_of(text).function.find("PyEval_") != std::string_view::npos;
    });
}

std::string_view base_name(std::string_view file) {
    const auto slash = file.rfind('/');
    return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

}  // namespace

std::vector<std::string> frames_of_py_spy(std::string_view output) {
    // Thread 1294 (idle): "MainThread"
    //     wait (threading.py:320)
    // Threads have names only in a program that has imported "threading".
    std::vector<std::string> frames = {};
    bool in_thread = false;
    for (const auto& line : split(output, '\n')) {
        if (line.starts_with("Thread ")) {
            in_thread = frames.empty() || line.ends_with("\"MainThread\"");
            if (line.ends_with("\"MainThread\"")) frames.clear();
        } else if (in_thread && line.starts_with("    ") && !trimmed(line).empty()) {
            frames.emplace_back(trimmed(line));
        } else if (trimmed(line).empty() && !frames.empty()) {
            in_thread = false;
        }
    }
    return frames;
}

std::vector<std::string> frames_of_gdb(std::string_view output) {
    // The main thread comes last:
    // Thread 1 (Thread 0x7f7c (LWP 77) "python3"):
    // #0  0x00007f7c1d2cd3d5 in clock_nanosleep () from /lib/libc.so.6
    std::vector<std::string> frames = {};
    bool in_main_thread = false;
    for (const auto& line : split(output, '\n')) {
        if (line.starts_with("Thread 1 ")) in_main_thread = true;
        if (!in_main_thread || !line.starts_with("#")) continue;
        auto call = trimmed(std::string_view(line).substr(std::min(line.size(), line.find(' '))));
        const auto address_end = call.find(" in ");
        if (call.starts_with("0x") && address_end != std::string_view::npos)
            call.remove_prefix(address_end + 4);
        frames.emplace_back(call);
    }
    return frames;
}

std::optional<WaitingCall> waiting_call(const std::vector<std::string>& stack) {
    std::optional<WaitingCall> call = {};
    for (const auto& text : stack) {
        const auto frame = frame_of(text);
        auto name = native_wait(frame.function);
        if (name.empty()) name = python_wait(frame);
        if (!name.empty())
            call = WaitingCall{.name = std::move(name), .source = {}};
        else if (call && is_of_program(frame)) {
            call->source = base_name(frame.file);
            break;
        }
    }
    return call;
}

bool is_call_of_messages(std::string_view name) {
    constexpr std::array<std::string_view, 14> names{
        "send",     "recv",      "receive",   "irecv",     "isend",     "batch_isend_irecv", "MPI_Send",
        "MPI_Recv", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend", "MPI_Probe", "MPI_Sendrecv",      "MPI_Mprobe"};
    return std::ranges::find(names, name) != names.end();
}

std::string program_call(const std::vector<std::string>& stack) {
    if (!shows_interpreter(stack))
        for (const auto& text : stack)
            if (const auto frame = frame_of(text); is_of_program(frame))
                return fmt::format("{} ({})", frame.function, base_name(frame.file));
    if (stack.empty()) return {};
    // Of a library the function is enough: gdb shows all arguments, and where the library was compiled.
    const auto frame = frame_of(stack.front());
    return std::string(is_of_python(frame) ? std::string_view(stack.front())
                                           : without_prefix(frame.function));
}

std::string line_behind(const std::string& source, const std::vector<std::string>& stack) {
    if (source.find(".cpython-") == std::string::npos || stack.empty()) return source;
    // Of the library itself py-spy shows nothing, so that the innermost frame is the program's.
    const auto frame = frame_of(stack.front());
    return is_of_python(frame) && is_of_program(frame) ? std::string(base_name(frame.file)) : source;
}

std::string program_line(const std::vector<std::string>& stack) {
    for (const auto& text : stack)
        if (const auto frame = frame_of(text); is_of_program(frame))
            return std::string(base_name(frame.file));
    return {};
}

std::string phase_of(const std::vector<std::string>& stack) {
    if (shows_interpreter(stack)) return {};
    constexpr std::array<std::string_view, 4> loader{"utils/data/", "dataloader", "DataLoader", "paddle/io/"};
    constexpr std::array<std::string_view, 5> compiler{"_inductor/", "_dynamo/", "triton/", "cpp_extension",
                                                       "setuptools/"};
    constexpr std::array<std::string_view, 4> saving{"torch/serialization", "checkpoint", "H5F", "save"};
    constexpr std::array<std::string_view, 3> evaluating{"eval", "valid", "test_epoch"};
    for (const auto& text : stack) {
        if (contains_any(text, compiler)) return "compiles";
        if (contains_any(text, loader)) return "loads data";
        if (contains_any(text, saving)) return "writes a checkpoint";
        if (contains_any(frame_of(text).function, evaluating)) return "evaluates";
    }
    return {};
}

}  // namespace dtrain::trace
