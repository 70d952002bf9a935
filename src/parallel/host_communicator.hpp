// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <dtrain/communicator.hpp>

namespace dtrain::parallel {

/// @param asker what the communicator was given to: "GradientAveraging"
/// @param remedy what to do instead: "give it the one over MPI"
/// @throws GpuCommunicatorError if the communicator's memory is that of a GPU
void check_is_for_host(const Communicator& communicator, std::string_view asker, std::string_view remedy);

}  // namespace dtrain::parallel
