// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_module.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "base/host.hpp"
#include "base/module_file.hpp"

namespace dtrain::comm {
namespace {

const NcclModule* linked_in = nullptr;

NcclUnavailable unavailable(const std::string& reason, const std::string& remedy) {
    return NcclUnavailable(fmt::format("NCCL cannot be used on {}: {}; {}", host_name(), reason, remedy));
}

const NcclModule& in_file() try {
    // A library older than the module lacks some of its symbols: the available ones are used to report that.
    using Open = const NcclModule* (*)();
    const auto open = reinterpret_cast<Open>(
        open_module({"libdtrain_nccl.so", "DTRAIN_NCCL_MODULE", "dtrain_open_nccl"}, RTLD_LAZY));
    return *open();
} catch (const ModuleError& error) {
    switch (error.kind()) {
        case ModuleError::Kind::absent:
            throw unavailable(error.what(),
                              "dtrain was built without CUDA, or its module was not installed: install the "
                              "CUDA Toolkit and NCCL and build with -Dcuda=enabled");
        case ModuleError::Kind::foreign:
            throw unavailable(fmt::format("{} is no NCCL module of dtrain", error.file()),
                              "DTRAIN_NCCL_MODULE names another file, or nothing");
        case ModuleError::Kind::unloadable:
            break;
    }
    throw unavailable(error.what(),
                      "install NCCL (libnccl.so.2) and CUDA's runtime there, or put their folders into "
                      "LD_LIBRARY_PATH");
}

}  // namespace

const NcclModule& nccl_module() {
    static const NcclModule& module = linked_in != nullptr ? *linked_in : in_file();
    return module;
}

GpuVersions gpu_versions() {
    try {
        return nccl_module().versions();
    } catch (const NcclUnavailable& error) {
        GpuVersions none;
        none.why_none = error.what();
        return none;
    }
}

void use_nccl_module(const NcclModule& module) {
    linked_in = &module;
}

}  // namespace dtrain::comm
