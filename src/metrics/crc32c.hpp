// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace dtrain::metrics {

/// The Castagnoli checksum (RFC 3720, appendix B.4). For short texts: uses a table, no CPU instructions.
std::uint32_t crc32c(std::string_view bytes);

/// The masked checksum of TFRecord files, which remains reliable for data that contain checksums
/// (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dtrain::metrics
