// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/operations_folder.hpp"

#include <system_error>

#include <dtrain/error.hpp>

#include "trace/operation_log_format.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* folder_in_memory = "/dev/shm";

std::unique_ptr<TemporaryFolder> folder_in(const std::filesystem::path& parent) {
    try {
        return std::make_unique<TemporaryFolder>(parent);
    } catch (const std::system_error&) {
        return nullptr;
    }
}

}  // namespace

OperationsFolder::OperationsFolder(const Environment& environment) : folder_(folder_in(folder_in_memory)) {
    if (folder_) return;
    try {
        folder_ = folder_in(temporary_directory(environment));
    } catch (const UsageError&) {  // no folder for temporary files, which a rank does not need
    }
}

void OperationsFolder::announce(Environment& program) const {
    if (folder_)
        program.set(trace::operation_log_variable, folder_->path());
    else
        program.unset(trace::operation_log_variable);
}

}  // namespace dtrain::worker
