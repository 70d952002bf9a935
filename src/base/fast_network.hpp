// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <dtrain/environment.hpp>

namespace dtrain {

/// Whether this machine may have an adapter that MPI uses without the kernel's TCP: InfiniBand, RoCE, EFA,
/// Omni-Path, Slingshot or Aries. Also true where sysfs is not there to tell.
/// @param root the folder with sys/ and dev/
bool may_have_fast_network(const std::filesystem::path& root = "/");

/// Variable of Open MPI: which of its MTLs, components for such adapters, it loads.
inline constexpr const char* mtl_variable = "OMPI_MCA_mtl";

/// Its value for a rank on a machine without: none of them. Debian's load libpsm2, which measures the
/// processor's clock at that for 0.15 s, and libfabric, so that MPI_Init takes 0.2 s longer. None on other
/// machines, or if the user has set a variable of MTLs or of what selects them. Pure.
std::optional<std::string> mtl_selection(const Environment& environment, bool may_have_fast_network);

}  // namespace dtrain
