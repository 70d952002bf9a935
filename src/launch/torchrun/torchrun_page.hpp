// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::launch::torchrun {

/// docs/torchrun.md: torchrun's options and what dtrain-run does with them.
std::string torchrun_markdown();

}  // namespace dtrain::launch::torchrun
