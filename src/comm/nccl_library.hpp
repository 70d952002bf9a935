// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::comm {

/// The CUDA that a libnccl was compiled for, "13.0". No call of NCCL tells it, but the text that it writes
/// into its log, "NCCL version 2.28.9+cuda13.0", stands in its constants. "" where it does not.
std::string cuda_of_nccl(const std::filesystem::path& library);

}  // namespace dtrain::comm
