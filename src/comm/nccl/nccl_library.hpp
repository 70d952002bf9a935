// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::comm {

/// The CUDA version that a libnccl was compiled for, "13.0". No NCCL call returns it, but the text that NCCL
/// writes into its log, "NCCL version 2.28.9+cuda13.0", is among the library's constants. "" if it is not
/// found.
std::string cuda_of_nccl(const std::filesystem::path& library);

}  // namespace dtrain::comm
