// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/products.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::native {

ComputeType agreed_products(ComputeType wanted, const Device& device, const Communicator& ranks,
                            const Console& console) {
    if (device.is_gpu() || wanted == ComputeType::float32) return wanted;
    if (wanted == ComputeType::float16) {
        console.complain(
            "[train] matmul = \"float16\": only GPUs multiply float16 ([train] device = \"gpu\"); all ranks "
            "compute with float32");
        return ComputeType::float32;
    }
    auto reasons = ranks.all_gather(why_no_bfloat16_products());
    std::erase(reasons, "");
    if (reasons.empty()) return wanted;
    console.complain(fmt::format(
        "[train] matmul = \"bfloat16\" is not possible on {} of {}: {}; all ranks compute with float32",
        reasons.size(), counted(ranks.size(), "rank"), reasons.front()));
    return ComputeType::float32;
}

}  // namespace dtrain::native
