// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::kernels {

/// The oneDNN that is loaded, "2.6.3"; "" where dtrain was built without.
std::string onednn_version();

}  // namespace dtrain::kernels
