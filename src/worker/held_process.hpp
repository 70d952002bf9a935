// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>

/// What keeps a process from going on, as the kernel sees it. These take a tenth of a second if something
/// does.
namespace dtrain::worker {

/// As the kernel knows it, of 15 characters at most; "": there is no such process.
std::string process_name(pid_t pid);

/// The process that traces it; 0: none does.
pid_t tracer_of(pid_t pid);

/// "held by a debugger (gdb, pid 77)", "frozen with its control group /docker/1f2e"; "": neither.
std::string what_holds(pid_t pid);

/// Whether a signal has stopped it, or something holds it: then its threads do not answer.
bool cannot_answer(pid_t pid);

/// A thread that stays in an uninterruptible system call, the main one if that does; 0: there is none.
pid_t thread_in_kernel(pid_t pid);

/// The file that a thread's system call is about; "" if that is not known.
std::string file_in_use(pid_t thread);

/// "it waits for the system, for FILE", or as what_holds() says; "" if nothing keeps it from ending.
std::string why_no_signal_ends(pid_t pid);

}  // namespace dtrain::worker
