// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/gpu_software.hpp"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain {
namespace {

using Version = std::array<int, 3>;

Version version_of(const std::string& text) {
    Version version{};
    const auto numbers = split(text, '.');
    for (std::size_t i = 0; i < version.size() && i < numbers.size(); ++i)
        version.at(i) = static_cast<int>(parse_int(numbers[i]).value_or(0));
    return version;
}

int major_of(const std::string& version) {
    return version_of(version).front();
}

struct FirstDriver {
    int cuda;
    int driver;
};

/// The oldest drivers that support all minor versions of a CUDA major version.
constexpr std::array first_drivers = {FirstDriver{11, 450}, FirstDriver{12, 525}, FirstDriver{13, 580}};

std::string driver_for(int cuda) {
    for (const auto& first : first_drivers)
        if (first.cuda == cuda) return fmt::format("driver {} or newer", first.driver);
    return fmt::format("a driver of CUDA {} or newer", cuda);
}

std::string driver_supports(const GpuSoftware& software) {
    return fmt::format("its GPU driver{}{} supports CUDA {}", software.driver.empty() ? "" : " ",
                       software.driver, software.cuda_driver);
}

}  // namespace

std::vector<SoftwareIssue> issues_of(const GpuSoftware& software) {
    std::vector<SoftwareIssue> out;
    const int driver = major_of(software.cuda_driver);
    const int runtime = major_of(software.cuda_runtime);
    const int of_nccl = major_of(software.nccl_cuda);
    const bool knows_driver = !software.cuda_driver.empty();
    if (knows_driver && driver < runtime)
        out.push_back({true,
                       fmt::format("{}, but dtrain was built with {}", driver_supports(software),
                                   software.cuda_runtime),
                       fmt::format("install {} there, or build dtrain with a CUDA Toolkit {}",
                                   driver_for(runtime), driver)});
    if (knows_driver && driver < of_nccl && of_nccl != runtime)
        out.push_back({true,
                       fmt::format("{}, but NCCL {} was compiled for {}", driver_supports(software),
                                   software.nccl, software.nccl_cuda),
                       fmt::format("install {} there, or NCCL {} for CUDA {}", driver_for(of_nccl),
                                   software.nccl, driver)});
    if (!software.nccl.empty() && version_of(software.nccl) < version_of(software.nccl_needed))
        out.push_back(
            {true,
             fmt::format("NCCL {} is loaded, but dtrain was built with {} and calls what came with {}",
                         software.nccl, software.nccl_built, software.nccl_needed),
             fmt::format("put a libnccl.so.2 of {} or newer first in LD_LIBRARY_PATH, or build dtrain "
                         "with NCCL {}",
                         software.nccl_needed, software.nccl)});
    if (of_nccl != 0 && runtime != 0 && of_nccl != runtime)
        out.push_back({false,
                       fmt::format("NCCL {} was compiled for CUDA {}, but dtrain was built with {}",
                                   software.nccl, software.nccl_cuda, software.cuda_runtime),
                       fmt::format("install NCCL for CUDA {}", runtime)});
    return out;
}

std::string insufficient_driver_text(int cuda_driver, int cuda_runtime) {
    if (cuda_driver == 0) return "it has no driver of NVIDIA's (libcuda.so.1)";
    const auto issues = issues_of(
        {.cuda_driver = cuda_version_text(cuda_driver), .cuda_runtime = cuda_version_text(cuda_runtime)});
    if (!issues.empty()) return fmt::format("{}; {}", issues.front().text, issues.front().remedy);
    return fmt::format("its GPU driver, of CUDA {}, is insufficient for CUDA {}",
                       cuda_version_text(cuda_driver), cuda_version_text(cuda_runtime));
}

std::string cuda_version_text(int number) {
    return number == 0 ? "" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string nccl_version_text(int number) {
    const int scale = number < 10000 ? 1000 : 10000;  // 10000 since NCCL 2.9
    return fmt::format("{}.{}.{}", number / scale, number % scale / 100, number % 100);
}

}  // namespace dtrain
