// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

namespace {

/// Both functions have one name in the log: ranks may call the one or the other.
template <class Run>
[[gnu::always_inline]] inline int initializing(const Run& run) {
    auto* const recorder = Recorder::depth > 0 ? nullptr : Recorder::before_init();
    if (recorder == nullptr) return run();
    const CollectiveCall call{.name = "MPI_Init", .where = of_comm(MPI_COMM_WORLD)};
    const BlockingOperation operation(*recorder, recorder->describe(call, __builtin_return_address(0)));
    const int result = run();
    if (result == MPI_SUCCESS) recorder->groups.confirm_world();
    return result;
}

}  // namespace

DTRAIN_RECORDED(Init);
int MPI_Init(int* argc, char*** argv) {
    return initializing([&] { return mpi_library::Init(argc, argv); });
}

DTRAIN_RECORDED(Init_thread);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return initializing([&] { return mpi_library::Init_thread(argc, argv, required, provided); });
}

DTRAIN_RECORDED(Finalize);
int MPI_Finalize() {
    return blocking(CollectiveCall{.name = "MPI_Finalize", .where = of_comm(MPI_COMM_WORLD)},
                    [] { return mpi_library::Finalize(); });
}
