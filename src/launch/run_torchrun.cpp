// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/run_torchrun.hpp"

#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <dtrain/cpuset.hpp>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"
#include "base/temporary_folder.hpp"
#include "launch/options/settings.hpp"
#include "launch/run_launch.hpp"
#include "launch/torchrun/launch_options.hpp"
#include "launch/torchrun/run_options.hpp"

namespace dtrain::launch {
namespace {

/// A name for a run, short enough for a folder's.
std::string new_run_id() {
    return random_id().substr(0, 8);
}

}  // namespace

int run_torchrun(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto parsed = torchrun::parse_run_options(arguments, environment);
    if (parsed.text) {
        write_all(STDOUT_FILENO, *parsed.text);
        return 0;
    }
    set_up_log("dtrain-run");
    set_log_level("WARNING");
    for (const auto& notice : parsed.notices) log_warning("{}", notice);
    const auto run_id = new_run_id();
    const std::filesystem::path own_logs = temporary_directory(environment) / ("dtrain-run." + run_id);
    const int status =
        run_job(torchrun::launch_options(parsed.options,
                                         {.cpus = CpuSet::of_this_thread().count(),
                                          .random_id = run_id,
                                          .python = environment.get_or("PYTHON_EXEC", "python3"),
                                          .temporary_folder = own_logs.string()},
                                         options_of(read_settings(settings_files(environment)))),
                environment);
    std::error_code ignored;
    if (status == 0) std::filesystem::remove_all(own_logs, ignored);
    return status;
}

}  // namespace dtrain::launch
