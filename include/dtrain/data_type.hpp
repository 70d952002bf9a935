// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <dtrain/error.hpp>
#include <dtrain/half.hpp>

namespace dtrain {

/// Types of elements: of tensors, of what ranks exchange and reduce, of arrays in checkpoints. Files have
/// their names, never their numbers.
enum class DataType : std::uint8_t {
    float32,   ///< float
    float64,   ///< double
    float16,   ///< dtrain::float16
    bfloat16,  ///< dtrain::bfloat16
    int32,     ///< std::int32_t
    int64,     ///< std::int64_t
    uint8,     ///< std::uint8_t, and std::byte of operations that only move data
    int8,      ///< std::int8_t
    int16,     ///< std::int16_t
    uint16,    ///< std::uint16_t
    uint32,    ///< std::uint32_t
    uint64     ///< std::uint64_t
};

/// What is known of a DataType.
struct DataTypeInfo {
    DataType type = DataType::float32;  ///< the type
    std::string_view name = {};         ///< as files, job files and messages have it
    std::size_t bytes = 0;              ///< of one element
    bool is_real = false;               ///< floating-point numbers; else integers
};

/// One row for each DataType, in the order of the enumeration.
inline constexpr std::array data_type_table{DataTypeInfo{DataType::float32, "float32", 4, true},    //
                                            DataTypeInfo{DataType::float64, "float64", 8, true},    //
                                            DataTypeInfo{DataType::float16, "float16", 2, true},    //
                                            DataTypeInfo{DataType::bfloat16, "bfloat16", 2, true},  //
                                            DataTypeInfo{DataType::int32, "int32", 4, false},       //
                                            DataTypeInfo{DataType::int64, "int64", 8, false},       //
                                            DataTypeInfo{DataType::uint8, "uint8", 1, false},       //
                                            DataTypeInfo{DataType::int8, "int8", 1, false},         //
                                            DataTypeInfo{DataType::int16, "int16", 2, false},       //
                                            DataTypeInfo{DataType::uint16, "uint16", 2, false},     //
                                            DataTypeInfo{DataType::uint32, "uint32", 4, false},     //
                                            DataTypeInfo{DataType::uint64, "uint64", 8, false}};

/// All data types, in the order of the enumeration.
inline constexpr auto data_types = [] {
    std::array<DataType, data_type_table.size()> types{};
    for (std::size_t i = 0; i < types.size(); ++i) types[i] = data_type_table[i].type;
    return types;
}();

/// DataType
using ElementType [[deprecated("it is called DataType")]] = DataType;
/// data_types
[[deprecated("they are called data_types")]] inline constexpr auto element_types = data_types;

/// The row of this type. @throws std::out_of_range for a number that is no DataType
constexpr const DataTypeInfo& info_of(DataType type) {
    return data_type_table.at(static_cast<std::size_t>(type));
}

/// "float32", "bfloat16", "uint8" ...
std::string to_string(DataType type);

/// Bytes of one element.
constexpr std::size_t size_of(DataType type) {
    return info_of(type).bytes;
}

/// True for floating-point numbers: float32, float64, float16, bfloat16.
constexpr bool is_real(DataType type) {
    return info_of(type).is_real;
}

/// True for int8 to int64 and uint8 to uint64.
constexpr bool is_integer(DataType type) {
    return !is_real(type);
}

/// True for the floating-point numbers of 16 bits, which are added in float: float16 and bfloat16.
constexpr bool is_half(DataType type) {
    return is_real(type) && size_of(type) == 2;
}

/// A type whose values can be reduced over ranks: the C++ type of a DataType.
template <class T>
concept Reducible = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, float16> ||
    std::same_as<T, bfloat16> || std::same_as<T, std::int8_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint8_t> ||
    std::same_as<T, std::uint16_t> || std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

/// The DataType of a C++ type.
template <Reducible T>
inline constexpr DataType data_type_of = [] {
    if (std::same_as<T, float>) return DataType::float32;
    if (std::same_as<T, double>) return DataType::float64;
    if (std::same_as<T, float16>) return DataType::float16;
    if (std::same_as<T, bfloat16>) return DataType::bfloat16;
    if (std::same_as<T, std::int8_t>) return DataType::int8;
    if (std::same_as<T, std::int16_t>) return DataType::int16;
    if (std::same_as<T, std::int32_t>) return DataType::int32;
    if (std::same_as<T, std::int64_t>) return DataType::int64;
    if (std::same_as<T, std::uint16_t>) return DataType::uint16;
    if (std::same_as<T, std::uint32_t>) return DataType::uint32;
    return std::same_as<T, std::uint64_t> ? DataType::uint64 : DataType::uint8;
}();

/// Elements have a type that is not handled here, as tensors of uint8.
class DataTypeError : public UsageError {
  public:
    /// @param where what it is not handled by, for example "tensors"
    /// @param expected the types that are, for example "float32 or float64"
    DataTypeError(const std::string& where, DataType type, const std::string& expected)
        : UsageError(where + ": the type is " + to_string(type) + ", expected " + expected), type_(type) {}

    /// The type that was given.
    DataType type() const { return type_; }

  private:
    DataType type_;
};

}  // namespace dtrain
