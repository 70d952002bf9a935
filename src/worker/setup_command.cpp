// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/setup_command.hpp"

namespace dtrain::worker {
namespace {

/// In a non-login shell the function `module` of Environment Modules or Lmod may be undefined.
constexpr const char* before = R"(if ! type module >/dev/null 2>&1; then
    for file in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh; do
        if [ -r $file ]; then . $file; fi
    done
fi
set -e
)";
constexpr const char* behind = "\nset +e\nexec \"$@\"";

}  // namespace

std::vector<std::string> with_setup(const std::string& commands, const std::vector<std::string>& argv) {
    std::vector<std::string> out{"/bin/bash", "-c", before + commands + behind, "dtrain-setup"};
    out.insert(out.end(), argv.begin(), argv.end());
    return out;
}

}  // namespace dtrain::worker
