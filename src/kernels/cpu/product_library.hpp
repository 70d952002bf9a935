// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::kernels {

/// Version of the loaded oneDNN, "2.6.3"; "" if dtrain was built without it.
std::string onednn_version();

}  // namespace dtrain::kernels
