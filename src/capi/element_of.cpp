// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "capi/element_of.hpp"

#include <fmt/format.h>

#include <dtrain/c_api.h>
#include <dtrain/error.hpp>

namespace dtrain::capi {

DataType element_of(int type) {
    switch (type) {
        case DTRAIN_FLOAT32:
            return DataType::float32;
        case DTRAIN_FLOAT64:
            return DataType::float64;
        case DTRAIN_FLOAT16:
            return DataType::float16;
        case DTRAIN_BFLOAT16:
            return DataType::bfloat16;
        case DTRAIN_INT32:
            return DataType::int32;
        case DTRAIN_INT64:
            return DataType::int64;
        case DTRAIN_UINT8:
            return DataType::uint8;
        case DTRAIN_INT8:
            return DataType::int8;
        case DTRAIN_INT16:
            return DataType::int16;
        case DTRAIN_UINT16:
            return DataType::uint16;
        case DTRAIN_UINT32:
            return DataType::uint32;
        case DTRAIN_UINT64:
            return DataType::uint64;
        default:
            throw UsageError(fmt::format("type {}: there is none such; see dtrain_type", type));
    }
}

Reduction reduction_of(int reduction) {
    switch (reduction) {
        case DTRAIN_SUM:
            return Reduction::sum;
        case DTRAIN_AVERAGE:
            return Reduction::average;
        case DTRAIN_MIN:
            return Reduction::min;
        case DTRAIN_MAX:
            return Reduction::max;
        case DTRAIN_PRODUCT:
            return Reduction::product;
        case DTRAIN_BIT_AND:
            return Reduction::bit_and;
        case DTRAIN_BIT_OR:
            return Reduction::bit_or;
        case DTRAIN_BIT_XOR:
            return Reduction::bit_xor;
        default:
            throw UsageError(
                fmt::format("reduction {}: there is none such; see dtrain_reduction", reduction));
    }
}

}  // namespace dtrain::capi
