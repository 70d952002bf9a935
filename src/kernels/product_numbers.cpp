// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dnnl.hpp>

#include <dtrain/product_numbers.hpp>

namespace dtrain {

std::string to_string(ProductNumbers numbers) {
    return numbers == ProductNumbers::bfloat16 ? "bfloat16" : "float32";
}

bool has_bfloat16_products() {
    // Each set of instructions is a bit more than those that it contains.
    constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace dtrain
