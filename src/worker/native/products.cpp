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
    auto reasons = ranks.allgather(why_no_bfloat16_products());
    std::erase(reasons, "");
    if (reasons.empty()) return wanted;
    console.complain(fmt::format(
        "[train] matmul = \"bfloat16\" is not possible on {} of {}: {}; all ranks compute with float32",
        reasons.size(), counted(ranks.size(), "rank"), reasons.front()));
    return ProductNumbers::float32;
}

}  // namespace dtrain::native
