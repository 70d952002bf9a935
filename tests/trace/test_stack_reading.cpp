// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: outputs of py-spy 0.4 and gdb 13, and what a person reads in them.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/stack_reading.hpp"

namespace dtrain::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* of_torch = R"(Process 4177: python3 train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 4190 (idle): "Thread-1"
    wait (threading.py:320)

Thread 4177 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2806)
    wrapper (torch/distributed/c10d_logger.py:81)
    step (train.py:88)
    <module> (train.py:120)
)";

TEST(StackReading, FindsTheMainThreadOfPySpy) {
    EXPECT_THAT(frames_of_py_spy(of_torch),
                ElementsAre("all_reduce (torch/distributed/distributed_c10d.py:2806)",
                            "wrapper (torch/distributed/c10d_logger.py:81)", "step (train.py:88)",
                            "<module> (train.py:120)"));
    EXPECT_THAT(frames_of_py_spy("Process 1: python3\n\nThread 1 (idle)\n    f (a.py:1)\n\nThread 2 (idle)\n"
                                 "    g (a.py:2)\n"),
                ElementsAre("f (a.py:1)"))
        << "threads without names: the first one";
    EXPECT_THAT(frames_of_py_spy("Error: Permission Denied"), IsEmpty());
}

TEST(StackReading, FindsTheMainThreadOfGdb) {
    EXPECT_THAT(
        frames_of_gdb(R"([New LWP 78]
Thread 2 (Thread 0x7f7c (LWP 78) "a.out"):
#0  0x00007f7c1d2cd3d5 in poll () from /lib/libc.so.6
#1  0x00007f7c1d2cd3d6 in event_loop () from /lib/libevent.so
Thread 1 (Thread 0x7f7c (LWP 77) "a.out"):
#0  0x00007f7c1d2cd3d5 in opal_progress () from /lib/libopen-pal.so.40
#1  0x00007f7c1d2cd3d7 in PMPI_Allreduce () from /lib/libmpi.so.40
#2  main (argc=..., argv=...) at ring.cpp:12
)"),
        ElementsAre("opal_progress () from /lib/libopen-pal.so.40",
                    "PMPI_Allreduce () from /lib/libmpi.so.40", "main (argc=..., argv=...) at ring.cpp:12"));
}

std::string top_of(std::vector<std::string> (*frames_of)(std::string_view), std::string_view output) {
    const auto frames = frames_of(output);
    return frames.empty() ? "" : frames.front();
}

TEST(StackReading, TakesTheTopOfPySpy) {
    constexpr auto output = R"text(Process 77: python3 train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 78 (active): "Thread-1 (work)"
    work (train.py:3)
Thread 77 (idle): "MainThread"
    wait (threading.py:320)
    <module> (train.py:9)
)text";
    EXPECT_EQ(top_of(frames_of_py_spy, output), "wait (threading.py:320)");
    EXPECT_EQ(top_of(frames_of_py_spy, "Error: Failed to find python version"), "");
    EXPECT_EQ(top_of(frames_of_py_spy,
                     "Process 1294: python3 -u h.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
                     "Thread 1294 (idle)\n    stuck (h.py:4)\n    <module> (h.py:6)\n"),
              "stuck (h.py:4)")
        << "of a program without threads, by py-spy 0.4.3";
    EXPECT_EQ(top_of(frames_of_py_spy, "Thread 77 (idle): \"MainThread\""), "");
}

TEST(StackReading, TakesTheTopOfGdb) {
    constexpr auto output = R"([Thread debugging using libthread_db enabled]
Thread 2 (Thread 0x7f11 (LWP 78) "worker"):
#0  0x00007f35c4915ada in futex_wait (...) at futex.c:57
#1  start_thread () from /lib/libc.so.6

Thread 1 (Thread 0x7f10 (LWP 77) "python3"):
#0  0x00007f7c1d2cd3d5 in clock_nanosleep () from /lib/libc.so.6
#1  0x00000000004c5ada in time_sleep ()
)";
    EXPECT_EQ(top_of(frames_of_gdb, output), "clock_nanosleep () from /lib/libc.so.6");
    EXPECT_EQ(top_of(frames_of_gdb, "Thread 1 (LWP 7):\n#0  main (...) at a.c:3\n"), "main (...) at a.c:3");
    EXPECT_EQ(top_of(frames_of_gdb, "ptrace: Operation not permitted.\n"), "");
}

TEST(StackReading, KnowsWhatWaits) {
    EXPECT_EQ(waiting_call(frames_of_py_spy(of_torch)),
              (WaitingCall{.name = "all_reduce", .source = "train.py:88"}));
    EXPECT_EQ(waiting_call({"opal_progress () from /lib/libopen-pal.so.40",
                            "PMPI_Allreduce () from /lib/libmpi.so.40",
                            "main (argc=..., argv=...) at /home/me/ring.cpp:12"}),
              (WaitingCall{.name = "MPI_Allreduce", .source = "ring.cpp:12"}));
    EXPECT_EQ(waiting_call({"read (socket.py:3)", "step (train.py:88)"}), std::nullopt);
    EXPECT_EQ(waiting_call({"all_reduce (train.py:3)", "step (train.py:88)"}), std::nullopt)
        << "a function of the program";
    EXPECT_EQ(waiting_call({"_engine_run_backward (torch/autograd/graph.py:1113)",
                            "backward (torch/_tensor.py:700)", "<module> (train.py:12)"}),
              (WaitingCall{.name = "_engine_run_backward", .source = "train.py:12"}));
    EXPECT_EQ(waiting_call(
                  {"monkey_patch_tensor.<locals>.backward (paddle/base/dygraph/tensor_patch_methods.py:357)",
                   "__impl__ (paddle/base/framework.py:600)", "step (train.py:12)"}),
              (WaitingCall{.name = "backward", .source = "train.py:12"}));
    EXPECT_EQ(waiting_call({"rendezvous (torch/distributed/rendezvous.py:3)",
                            "init_process_group (torch/distributed/distributed_c10d.py:1700)",
                            "wrapper (torch/distributed/c10d_logger.py:83)", "<module> (train.py:7)"}),
              (WaitingCall{.name = "init_process_group", .source = "train.py:7"}));
    EXPECT_EQ(waiting_call({}), std::nullopt);
}

TEST(StackReading, TakesNoInterpreterForTheProgram) {
    // gdb, of a Python with debugging information
    const std::vector<std::string> stack{
        "__GI___clock_nanosleep (clock_id=...) at ../sysdeps/unix/clock_nanosleep.c:48",
        "time_sleep (self=..., obj=...) at ../Modules/timemodule.c:2",
        "cfunction_vectorcall_O (func=...) at Objects/methodobject.c:514",
        "_PyEval_EvalFrameDefault (tstate=...) at Python/ceval.c:4769",
        "run_eval_code_obj (tstate=...) at Python/pythonrun.c:1714"};
    EXPECT_EQ(program_call(stack), "clock_nanosleep");
    EXPECT_EQ(phase_of(stack), "");
}

TEST(StackReading, FindsTheLineBehindALibraryOfPython) {
    const std::string of_mpi4py = "MPI.cpython-311-x86_64-linux-gnu.so+0x7159a";
    EXPECT_EQ(line_behind(of_mpi4py, {"exchange (/home/me/ring.py:12)", "<module> (/home/me/ring.py:40)"}),
              "ring.py:12");
    EXPECT_EQ(line_behind(of_mpi4py, {"wait (threading.py:320)", "<module> (ring.py:40)"}), of_mpi4py)
        << "another thread calls it";
    EXPECT_EQ(line_behind(of_mpi4py, {}), of_mpi4py);
    EXPECT_EQ(line_behind("ring+0x7159a", {"exchange (ring.py:12)"}), "ring+0x7159a");
}

TEST(StackReading, KnowsTheProgramAndItsPhase) {
    EXPECT_EQ(program_call({"sleep (threading.py:3)", "step (train.py:88)", "<module> (train.py:1)"}),
              "step (train.py:88)");
    EXPECT_EQ(program_call({"__GI___poll (fds=..., nfds=1) at ../sysdeps/unix/sysv/linux/poll.c:29"}),
              "poll");
    EXPECT_EQ(program_call({"poll () from /lib/libc.so.6", "spin (n=...) at /home/me/ring.cpp:12"}),
              "spin (ring.cpp:12)");
    EXPECT_EQ(program_call({"std::this_thread::sleep_for<long, std::ratio<1l, 1l> > (__rtime=...) at "
                            "/usr/include/c++/12/bits/this_thread_sleep.h:80",
                            "run<int, long> (n=...) at /home/me/ring.cpp:12"}),
              "run<int, long> (ring.cpp:12)");
    EXPECT_EQ(program_call({}), "");
    EXPECT_EQ(phase_of({"_next_data (torch/utils/data/dataloader.py:700)", "<module> (train.py:1)"}),
              "loads data");
    EXPECT_EQ(phase_of({"matmul (model.py:3)", "evaluate (train.py:40)"}), "evaluates");
    EXPECT_EQ(phase_of({"_save (torch/serialization.py:900)", "<module> (train.py:1)"}),
              "writes a checkpoint");
    EXPECT_EQ(phase_of({"step (train.py:88)"}), "");
}

}  // namespace
}  // namespace dtrain::trace
