// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
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

}  // namespace dtrain
