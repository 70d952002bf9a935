// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/module_file.hpp"

#include <cstdlib>
#include <dlfcn.h>

#include <fmt/format.h>

namespace dtrain {

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
