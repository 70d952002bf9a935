// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/products.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::native {

ProductNumbers agreed_products(ProductNumbers wanted, const Device& device, const Communicator& ranks,
                               const Console& console) {
    if (device.is_gpu() || wanted == ProductNumbers::float32) return wanted;
    if (wanted == ProductNumbers::float16) {
        console.complain(
            "[train] matmul = \"float16\": only GPUs multiply float16 ([train] device = \"gpu\"); all ranks "
            "compute with float32");
        return ProductNumbers::float32;
    }
    const auto without = ranks.sum(std::int64_t{has_bfloat16_products() ? 0 : 1});
    if (without == 0) return wanted;
    console.complain(fmt::format(
        "[train] matmul = \"bfloat16\": the CPU of {} of {} has neither AVX512-BF16 nor AMX; all ranks "
        "compute with float32",
        without, counted(ranks.size(), "rank")));
    return ProductNumbers::float32;
}

}  // namespace dtrain::native
