// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtrain::kernels {

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011). Block b of a step is four numbers, computed from the key and the counter (b, step), both 64
/// bits.
/// @param out 4 * blocks numbers: those of the blocks first_block, first_block + 1, ...
void philox(std::uint64_t key, std::uint64_t step, std::uint64_t first_block, std::uint32_t* out,
            std::size_t blocks);

}  // namespace dtrain::kernels
