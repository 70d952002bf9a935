// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/hdf5_calls.hpp"

namespace dtrain::storage {
namespace {

Hdf5Handle copy_of(hid_t type) {
    return {H5Tcopy(type), H5Tclose};
}

/// A 16-bit floating-point type: sign, exponent, fraction. HDF5 1.10 has none built in, but reads and
/// converts types defined by their fields.
Hdf5Handle half_type(hid_t order_of, std::size_t exponent_bits) {
    const std::size_t fraction_bits = 15 - exponent_bits;
    auto type = copy_of(order_of);
    H5Tset_fields(type.get(), 15, fraction_bits, exponent_bits, 0, fraction_bits);
    H5Tset_ebias(type.get(), (std::size_t{1} << (exponent_bits - 1)) - 1);
    H5Tset_size(type.get(), 2);
    return type;
}

constexpr std::size_t exponent_of_float16 = 5;
constexpr std::size_t exponent_of_bfloat16 = 8;

}  // namespace

Hdf5Handle file_type(DataType element) {
    switch (element) {
        case DataType::float32:
            return copy_of(H5T_IEEE_F32LE);
        case DataType::float64:
            return copy_of(H5T_IEEE_F64LE);
        case DataType::float16:
            return half_type(H5T_IEEE_F32LE, exponent_of_float16);
        case DataType::bfloat16:
            return half_type(H5T_IEEE_F32LE, exponent_of_bfloat16);
        case DataType::int32:
            return copy_of(H5T_STD_I32LE);
        case DataType::int64:
            return copy_of(H5T_STD_I64LE);
        case DataType::uint8:
            return copy_of(H5T_STD_U8LE);
        case DataType::int8:
            return copy_of(H5T_STD_I8LE);
        case DataType::int16:
            return copy_of(H5T_STD_I16LE);
        case DataType::uint16:
            return copy_of(H5T_STD_U16LE);
        case DataType::uint32:
            return copy_of(H5T_STD_U32LE);
        case DataType::uint64:
            return copy_of(H5T_STD_U64LE);
    }
    return {};
}

Hdf5Handle memory_type(DataType element) {
    switch (element) {
        case DataType::float32:
            return copy_of(H5T_NATIVE_FLOAT);
        case DataType::float64:
            return copy_of(H5T_NATIVE_DOUBLE);
        case DataType::float16:
            return half_type(H5T_NATIVE_FLOAT, exponent_of_float16);
        case DataType::bfloat16:
            return half_type(H5T_NATIVE_FLOAT, exponent_of_bfloat16);
        case DataType::int32:
            return copy_of(H5T_NATIVE_INT32);
        case DataType::int64:
            return copy_of(H5T_NATIVE_INT64);
        case DataType::uint8:
            return copy_of(H5T_NATIVE_UINT8);
        case DataType::int8:
            return copy_of(H5T_NATIVE_INT8);
        case DataType::int16:
            return copy_of(H5T_NATIVE_INT16);
        case DataType::uint16:
            return copy_of(H5T_NATIVE_UINT16);
        case DataType::uint32:
            return copy_of(H5T_NATIVE_UINT32);
        case DataType::uint64:
            return copy_of(H5T_NATIVE_UINT64);
    }
    return {};
}

std::optional<DataType> element_in(const Hdf5Handle& type) {
    for (const auto element : data_types)
        if (H5Tequal(type.get(), memory_type(element).get()) > 0) return element;
    return std::nullopt;
}

}  // namespace dtrain::storage
