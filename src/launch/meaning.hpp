// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/subprocess.hpp"

namespace dtrain::launch {

/// What an exit status usually means and where to look, for people who see it for the first time; nothing for
/// statuses that only the program itself can explain. Pure.
std::optional<std::string> usual_meaning(const ExitStatus& status);

}  // namespace dtrain::launch
