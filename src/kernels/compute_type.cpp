// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/compute_type.hpp>
#include <dtrain/error.hpp>

namespace dtrain {

std::string to_string(ComputeType numbers) {
    switch (numbers) {
        case ComputeType::float32:
            return "float32";
        case ComputeType::bfloat16:
            return "bfloat16";
        case ComputeType::float16:
            return "float16";
    }
    throw Error("there are no such products");
}

}  // namespace dtrain
