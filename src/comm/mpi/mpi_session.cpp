// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <exception>

#include <dtrain/mpi_session.hpp>
#include <dtrain/version.hpp>

#include "base/mpi_start.hpp"
#include "comm/api/own_processors.hpp"
#include "comm/failure/deadline.hpp"
#include "comm/failure/leaving.hpp"
#include "comm/failure/start_watch.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/operation_trace.hpp"
#include "comm/mpi/progress_thread.hpp"
#include "comm/mpi/same_version.hpp"
#include "comm/node/node_map.hpp"

namespace dtrain {

MpiSession::MpiSession() : exceptions_(std::uncaught_exceptions()) {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (initialised != 0) throw Error("MPI was initialised already: a process has one MpiSession at most");
    const auto environment = Environment::of_this_process();
    const comm::StartWatch watch(environment, comm::deadline_of(environment));
    for (const auto& [name, value] : mpi_start_variables(environment))
        ::setenv(name.c_str(), value.c_str(), 1);
    int provided = MPI_THREAD_SINGLE;
    {
        const comm::TraceOfJob trace(comm::TraceOfJob::Of::start, environment);
        comm::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    }
    // Errors outside our own communicators are reported through these two.
    comm::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    comm::check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    if (provided < MPI_THREAD_FUNNELED)
        throw Error("this MPI library allows no threads beside the one that calls it (MPI_THREAD_FUNNELED)");
    try {
        comm::check_same_version(MPI_COMM_WORLD, version);
    } catch (const VersionMismatch&) {
        MPI_Finalize();
        throw;
    }
    world_ = mpi_world();
    MPI_Comm node = comm::split_by_node(MPI_COMM_WORLD, 0);
    processors_ = comm::own_processors(node);
    MPI_Comm_free(&node);
    comm::compute_on(processors_, environment);
}

MpiSession::~MpiSession() {
    comm::end_help();
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    if ((unwinding && !comm::failure_is_agreed()) || comm::is_broken()) {
        // MPI_Finalize would wait for ranks that do not know of this rank's failure, or hang. The code that
        // catches the exception reports it and ends the job with a status: abort_job().
        return;
    }
    world_.reset();
    const comm::TraceOfJob trace(comm::TraceOfJob::Of::end, Environment::of_this_process());
    MPI_Finalize();
}

std::string MpiSession::library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    comm::check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
    std::string line(text, static_cast<std::size_t>(length));
    line.resize(std::min(line.find_first_of("\n\0", 0, 2), line.size()));
    std::replace(line.begin(), line.end(), '\t', ' ');
    return line;
}

void abort_job(int status) {
    if (comm::mpi_is_running()) MPI_Abort(MPI_COMM_WORLD, status);
    std::exit(status);
}

}  // namespace dtrain
