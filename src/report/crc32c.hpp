// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace dtrain::report {

/// The Castagnoli checksum (RFC 3720, appendix B.4). For short texts: a table, no instructions of the CPU.
std::uint32_t crc32c(std::string_view bytes);

/// As TFRecord files have it, so that a checksum of data that hold checksums stays one.
/// (tensorflow/core/lib/hash/crc32c.h)
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dtrain::report
