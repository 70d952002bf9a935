// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <dtrain/error.hpp>

namespace dtrain {

/// A part of dtrain in a separate shared library, because its dependencies are not on every machine.
struct ModuleFile {
    const char* file;      ///< "libdtrain_gpu.so"
    const char* variable;  ///< environment variable; names another file if it is set and not empty
    const char* entry;     ///< the function that is its entry point
};

/// A module cannot be opened; what() has the reason.
class ModuleError : public Error {
  public:
    enum class Kind {
        absent,      ///< there is no such file
        unloadable,  ///< one of its dependencies is missing
        foreign      ///< the file lacks the entry point
    };

    ModuleError(Kind kind, std::string file, const std::string& said)
        : Error(said), kind_(kind), file_(std::move(file)) {}

    Kind kind() const { return kind_; }
    const std::string& file() const { return file_; }

  private:
    Kind kind_;
    std::string file_;
};

/// Where this program would find a library: in LD_LIBRARY_PATH, in the folder of dtrain's modules, or in the
/// system's folders.
std::optional<std::filesystem::path> find_library(const std::string& file);

/// The module's entry point. The module stays open.
/// @param binding RTLD_NOW, or RTLD_LAZY for a module that may call functions missing in its libraries
/// @throws ModuleError
void* open_module(const ModuleFile& module, int binding);

}  // namespace dtrain
