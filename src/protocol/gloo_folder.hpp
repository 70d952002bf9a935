// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::cluster {

/// The folder of Gloo's files where nodes share none that is theirs alone: each node has its own of this
/// name.
inline std::string gloo_folder_of(const std::string& mark) {
    return "/tmp/dtrain-gloo." + mark;
}

}  // namespace dtrain::cluster
