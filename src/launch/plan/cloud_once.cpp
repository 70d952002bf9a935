// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/cloud_once.hpp"

#include <cerrno>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exec_image.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "launch/plan/program.hpp"

namespace dtrain::launch {

int run_once_on_cloud(const Options& options, const Environment& environment) {
    const auto program = program_of(options, environment);
    if (options.dry_run) {
        write_all(STDOUT_FILENO, fmt::format("{}\n", fmt::join(redacted_arguments(program), " ")));
        return 0;
    }
    log_info(
        "on PaddleCloud a process of a parameter-server job runs the script once, with the variables of "
        "the platform");
    const auto file = find_in_path(program.front(), environment);
    const int error = file ? ExecImage(program, environment).become(file->c_str()) : ENOENT;
    throw UsageError(
        fmt::format("cannot execute {}: {}", program.front(), std::generic_category().message(error)));
}

}  // namespace dtrain::launch
