// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::native {

/// The report on this machine with the versions of all libraries in this program: text, or one JSON object.
/// Initializes neither MPI nor a GPU.
std::string machine_info(const Environment& environment, bool json);

}  // namespace dtrain::native
