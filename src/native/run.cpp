// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/run.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/cluster.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "base/exit_status.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/status_line.hpp"
#include "native/console.hpp"
#include "native/export_rows.hpp"
#include "native/gpu_advice.hpp"
#include "native/inspect.hpp"
#include "native/launch_check.hpp"
#include "native/options.hpp"
#include "native/signal_line.hpp"
#include "native/training.hpp"
#include "storage/hdf5_file.hpp"

namespace dtrain::native {
namespace {

#ifdef OPEN_MPI
constexpr bool is_open_mpi = true;
#else
constexpr bool is_open_mpi = false;
#endif

/// Prints warnings to stderr, each on a line of its own, so that they do not mix with the status line on a
/// terminal.
GpuAdvice::Report reporter(const std::string& program, int rank, const std::shared_ptr<StatusLine>& line) {
    const bool has_bar = line != nullptr && line->on_terminal();
    const auto begin = fmt::format("{}{}: rank {} on {}: ", has_bar ? "\n" : "", program, rank, host_name());
    return [begin](const std::string& warning) { write_all(STDERR_FILENO, begin + warning + "\n"); };
}

bool mpi_has_ended() {
    int ended = 0;
    MPI_Finalized(&ended);
    return ended != 0;
}

}  // namespace

int run(const std::string& command, std::vector<std::string> arguments) {
    storage::leave_hdf5_at_exit();
    const auto program = std::filesystem::path(command).filename().string();
    const auto environment = Environment::of_this_process();
    const bool is_supervised = environment.has("DTRAIN_RANK_CPUS");
    // A supervised rank has its own log; its reader should not search there for the cause of an end that came
    // from outside.
    if (is_supervised) announce_ending_signals();
    const auto announced = cluster::identify(environment);
    // Before MPI runs, only the launcher's rank is known; without a launcher every process is rank 0.
    const Console before_mpi(program, announced.rank == 0);
    const auto refuse = [&](const std::string& why) {
        before_mpi.fail(error_of(UsageError(why)));
        // Launchers kill all ranks when one exits with an error; give rank 0 time to print its message first.
        if (announced.rank != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
        return status_usage;
    };
    Options options;
    std::optional<std::string> wrong_options;
    try {
        options = parse_options(program, std::move(arguments));
    } catch (const UsageError& error) {
        wrong_options = error.what();
    }
    if (options.print_and_exit) {
        before_mpi.print(*options.print_and_exit);
        return 0;
    }
    if (options.inspect) {
        if (options.export_to && announced.rank != 0) return 0;
        try {
            before_mpi.print(options.export_to
                                 ? export_rows(*options.inspect, options.table, *options.export_to)
                                 : inspect(*options.inspect));
            return 0;
        } catch (const UsageError& unreadable) {
            return refuse(unreadable.what());
        }
    }
    if (const auto why = why_mpi_cannot_start(announced, environment, is_open_mpi)) return refuse(*why);
    if (must_hide_slurm_step(announced, environment, is_open_mpi))
        for (const char* name : {"SLURM_NODELIST", "SLURM_STEP_NODELIST", "SLURM_STEP_ID", "SLURM_STEPID"})
            ::unsetenv(name);
    for (const auto& [name, value] : variables_without_daemon(announced, environment, is_open_mpi))
        ::setenv(name.c_str(), value.c_str(), 1);

    bool is_said = false;
    try {
        const MpiSession session;
        const auto& world = session.world();
        if (const auto wrong = world_mismatch(announced, world.size(), MpiSession::library_version()))
            return refuse(*wrong);
        const Console console(program, world.rank() == 0);
        try {
            throw_together(world, wrong_options);
            std::optional<GpuAdvice> advice;
            if (!is_supervised && announced.local_rank == 0)
                advice.emplace(environment.get("CUDA_VISIBLE_DEVICES"),
                               reporter(program, world.rank(), console.status_line()));
            return train(options, world, command, console);
        } catch (const std::exception& error) {
            // Print before the session ends: when ranks threw together, it ends on all of them at once.
            console.fail(error_of(error));
            is_said = world.rank() == 0;
            throw;
        }
    } catch (const VersionMismatch& mismatch) {
        return refuse(mismatch.what());
    } catch (const std::exception& error) {
        if (mpi_has_ended())
            return dynamic_cast<const UsageError*>(&error) != nullptr ? status_usage : status_failed;
        // This rank failed alone; the other ranks do not know about it.
        if (!is_said) {
            auto own = error_of(error);
            own.message += fmt::format(" (rank {} on {})", announced.rank, host_name());
            Console(program, true).complain(own.message);
            report_error(std::move(own));
        }
        abort_job(status_failed);
    }
}

}  // namespace dtrain::native
