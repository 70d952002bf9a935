// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/module_file.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <vector>

#include <fmt/format.h>

namespace dtrain {

std::optional<std::filesystem::path> find_library(const std::string& file) {
    void* const program = ::dlopen(nullptr, RTLD_LAZY);
    Dl_serinfo size{};
    if (program == nullptr || ::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return std::nullopt;
    // The folders' names lie behind the struct.
    std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const folders = reinterpret_cast<Dl_serinfo*>(memory.data());
    *folders = size;
    if (::dlinfo(program, RTLD_DI_SERINFO, folders) != 0) return std::nullopt;
    for (unsigned int index = 0; index < folders->dls_cnt; ++index) {
        const auto path = std::filesystem::path((&folders->dls_serpath[0])[index].dls_name) / file;
        std::error_code error;
        if (std::filesystem::is_regular_file(path, error)) return std::filesystem::absolute(path, error);
    }
    return std::nullopt;
}

void* open_module(const ModuleFile& module, int binding) {
    const char* given = std::getenv(module.variable);
    const std::string file = given != nullptr && *given != '\0' ? given : module.file;
    void* library = ::dlopen(file.c_str(), binding | RTLD_LOCAL);
    if (library == nullptr) {
        const std::string said = ::dlerror();
        const bool is_absent = said.starts_with(file + ": cannot open");
        throw ModuleError(is_absent ? ModuleError::Kind::absent : ModuleError::Kind::unloadable, file, said);
    }
    void* entry = ::dlsym(library, module.entry);
    if (entry == nullptr)
        throw ModuleError(ModuleError::Kind::foreign, file, fmt::format("{} has no {}", file, module.entry));
    return entry;
}

}  // namespace dtrain
