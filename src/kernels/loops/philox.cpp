// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/philox.hpp"

#include "kernels/functors/philox_block.hpp"
#include "kernels/loops/each_set.hpp"

namespace dtrain::kernels {

// Compilers compute as many blocks side by side as a register has room for.
EACH_SET void philox(std::uint64_t key, std::uint64_t step, std::uint64_t first_block, std::uint32_t* out,
                     std::size_t blocks) {
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto block = philox_block(key, step, first_block + i);
        out[4 * i] = block.c0;
        out[4 * i + 1] = block.c1;
        out[4 * i + 2] = block.c2;
        out[4 * i + 3] = block.c3;
    }
}

}  // namespace dtrain::kernels
