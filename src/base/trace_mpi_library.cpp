// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/trace_mpi_library.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/module_file.hpp"

namespace dtrain {
namespace {

constexpr const char* file_name = "libdtrain_trace_mpi.so";
constexpr const char* variable = "DTRAIN_TRACE_MPI_MODULE";
constexpr const char* preload = "LD_PRELOAD";

std::string found(const Environment& environment) {
    const auto given = environment.get_or(variable, "");
    if (given.empty()) {
        if (const auto library = find_library(file_name)) return library->string();
        throw UsageError(
            fmt::format("--trace-mpi: {} is not in the folder dtrain beside dtrain's libraries; install it "
                        "(Debian: libdtrain0), or name the file by {}",
                        file_name, variable));
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(given, error))
        throw UsageError(fmt::format("--trace-mpi: {}={}: there is no such file", variable, given));
    return std::filesystem::absolute(given).string();
}

}  // namespace

std::string trace_mpi_library(const Environment& environment) {
    const auto library = found(environment);
    if (library.find_first_of(" :") == std::string::npos) return library;
    throw UsageError(fmt::format(
        "--trace-mpi: the path \"{}\" has a space or a colon, which {} cannot name; put a link to "
        "it elsewhere and name that by {}",
        library, preload, variable));
}

void preload_first(Environment& environment, const std::string& library) {
    const auto others = environment.get_or(preload, "");
    environment.set(preload, others.empty() ? library : library + ":" + others);
}

}  // namespace dtrain
