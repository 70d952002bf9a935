// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace_mpi/recorder.hpp"

/// What each function of MPI in this library does around the one that the MPI library has. Inlined into that
/// function, so that the return address is the program's.
namespace dtrain::trace_mpi {

/// A call that returns when its operation is complete.
/// @param run the MPI library's function
template <class Call, class Run>
[[gnu::always_inline]] inline int blocking(const Call& call, const Run& run) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const BlockingOperation operation(*recorder, recorder->describe(call, __builtin_return_address(0)));
    return run();
}

/// A call that returns at once, and whose operation is complete when MPI_Wait or MPI_Test says so.
template <class Call, class Run>
[[gnu::always_inline]] inline int nonblocking(const Call& call, MPI_Request* request, const Run& run) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const InCall in_call;
    const auto operation = recorder->describe(call, __builtin_return_address(0));
    const auto ticket = recorder->log.begin(operation);
    const int result = run();
    if (result == MPI_SUCCESS)
        recorder->requests.add(*request, {ticket, operation});
    else
        recorder->log.end(ticket);
    return result;
}

/// As blocking(); then something was made, which `add(recorder)` gives a name.
template <class Call, class Run, class Add>
[[gnu::always_inline]] inline int making(const Call& call, const Run& run, const Add& add) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const BlockingOperation operation(*recorder, recorder->describe(call, __builtin_return_address(0)));
    const int result = run();
    if (result == MPI_SUCCESS) add(*recorder);
    return result;
}

/// As blocking(), for the last call about a communicator, window or file.
template <class Run>
[[gnu::always_inline]] inline int freeing(const CollectiveCall& call, const Run& run) {
    auto* const recorder = Recorder::of_this_call();
    if (recorder == nullptr) [[likely]]
        return run();
    const BlockingOperation operation(*recorder, recorder->describe(call, __builtin_return_address(0)));
    // Before it is free: then another thread may get the handle for a new one.
    recorder->groups.remove(call.where);
    return run();
}

}  // namespace dtrain::trace_mpi
