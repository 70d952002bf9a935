// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/machine_info.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <dtrain/cluster.hpp>
#include <dtrain/topology.hpp>

#include "comm/nccl/nccl_module.hpp"
#include "kernels/cpu/product_library.hpp"
#include "worker/machine_report.hpp"

namespace dtrain::native {
namespace {

std::string mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string hdf5_version() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace

std::string machine_info(const Environment& environment, bool json) {
    auto report = worker::machine_report(topology::discover(), CpuSet::of_this_thread(), environment);
    const auto mpi = worker::mpi_of(mpi_library());
    report.mpi.flavour = mpi.flavour;
    report.mpi.version = mpi.version;
    const auto identity = cluster::identify(environment);
    if (identity.launcher != cluster::Launcher::none) report.launcher = cluster::to_string(identity.launcher);
    const auto gpu = comm::gpu_versions();
    auto& software = report.versions.gpu;
    const auto by_nvml = std::exchange(software, gpu.software);
    software.driver = by_nvml.driver;
    if (software.cuda_driver.empty()) software.cuda_driver = by_nvml.cuda_driver;
    report.nccl.uses = gpu.nccl_uses;
    report.nccl.why_none = gpu.why_none;
    report.versions.hdf5 = hdf5_version();
    report.versions.onednn = kernels::onednn_version();
    return json ? worker::as_json(report) : worker::as_text(report);
}

}  // namespace dtrain::native
