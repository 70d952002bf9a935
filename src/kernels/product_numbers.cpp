// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dnnl.hpp>

#include <dtrain/error.hpp>
#include <dtrain/product_numbers.hpp>

namespace dtrain {

std::string to_string(ProductNumbers numbers) {
    switch (numbers) {
        case ProductNumbers::float32:
            return "float32";
        case ProductNumbers::bfloat16:
            return "bfloat16";
        case ProductNumbers::float16:
            return "float16";
    }
    throw Error("there are no such products");
}

bool has_bfloat16_products() {
    // Each set of instructions is a bit more than those that it contains.
    constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace dtrain
