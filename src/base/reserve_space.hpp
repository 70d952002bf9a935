// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace dtrain {

/// Makes an existing file at least `bytes` long, with room on the disk for all of them: writing into them
/// cannot fail for want of room.
/// @returns false if the file system cannot reserve room (EOPNOTSUPP)
/// @throws std::system_error if there is no room: ENOSPC, EDQUOT, EFBIG
bool reserve_space(const std::filesystem::path& file, std::int64_t bytes);

}  // namespace dtrain
