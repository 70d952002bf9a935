// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/mpirun/mpirun_probe.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::launch {

MpirunProbe::MpirunProbe(const Environment& environment) {
    if (!find_in_path("mpirun", environment))
        throw UsageError("mpirun is not in PATH; install Open MPI (Debian: openmpi-bin) or load its module");
    process_.emplace(ProcessOptions{.argv = {"mpirun", "--version"}, .environment = environment});
}

MpirunVersion MpirunProbe::open_mpi() {
    std::string output(4096, '\0');
    const auto got = ::read(process_->stdout_fd(), output.data(), output.size());
    output.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    process_->wait();
    if (const auto version = parse_mpirun_version(output)) return *version;
    throw UsageError(
        fmt::format("the mpirun in PATH is no Open MPI (it says \"{}\"); put Open MPI's first in PATH",
                    output.substr(0, output.find('\n'))));
}

}  // namespace dtrain::launch
