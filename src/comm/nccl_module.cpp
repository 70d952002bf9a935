// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_module.hpp"

#include <cstdlib>
#include <dlfcn.h>

#include <fmt/format.h>

#include <dtrain/nccl.hpp>

#include "base/host.hpp"

namespace dtrain::comm {
namespace {

const NcclModule* linked_in = nullptr;

NcclUnavailable unavailable(const std::string& reason, const std::string& mend) {
    return NcclUnavailable(fmt::format("NCCL cannot be used on {}: {}; {}", host_name(), reason, mend));
}

const NcclModule& in_file() {
    const char* told = std::getenv("DTRAIN_NCCL_MODULE");
    const std::string file = told != nullptr && *told != '\0' ? told : "libdtrain_nccl.so";
    // A library that is older than the module knows not all of its calls: those that there are say so.
    void* module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (module == nullptr) {
        const std::string reason = ::dlerror();
        if (reason.starts_with(file + ": cannot open"))
            throw unavailable(reason,
                              "dtrain was built without CUDA, or its module was not installed: install the "
                              "CUDA Toolkit and NCCL and build with -Dcuda=enabled");
        throw unavailable(reason,
                          "install NCCL (libnccl.so.2) and CUDA's runtime there, or put their folders into "
                          "LD_LIBRARY_PATH");
    }
    using Open = const NcclModule* (*)();
    const auto open = reinterpret_cast<Open>(::dlsym(module, "dtrain_open_nccl"));
    if (open == nullptr)
        throw unavailable(fmt::format("{} is no NCCL module of dtrain", file),
                          "DTRAIN_NCCL_MODULE names another file, or nothing");
    return *open();
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
