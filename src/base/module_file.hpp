// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <dtrain/error.hpp>

namespace dtrain {

/// A part of dtrain in a shared library of its own, as what it is linked with is not on every machine.
struct ModuleFile {
    const char* file;      ///< "libdtrain_gpu.so"
    const char* variable;  ///< of the environment; names another file when it is set and not empty
    const char* entry;     ///< the function with which it begins
};

/// A module that cannot be opened; what() is why.
class ModuleError : public Error {
  public:
    enum class Kind {
        absent,      ///< there is no such file
        unloadable,  ///< something that it needs is missing
        foreign      ///< the file has no such entry
    };

    ModuleError(Kind kind, std::string file, const std::string& said)
        : Error(said), kind_(kind), file_(std::move(file)) {}

    Kind kind() const { return kind_; }
    const std::string& file() const { return file_; }

  private:
    Kind kind_;
    std::string file_;
};

/// The module's entry. The module stays open.
/// @param binding RTLD_NOW, or RTLD_LAZY for a module that may call what its libraries do not have
/// @throws ModuleError
void* open_module(const ModuleFile& module, int binding);

}  // namespace dtrain
