// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the C++ types themselves, and the names in files of 0.1.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/data_type.hpp>
#include <dtrain/element_type.hpp>
#include <dtrain/tensor.hpp>

#include "base/with_element.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using tests::message_of;

static_assert(TensorElement<float> && TensorElement<double>);
static_assert(TensorElement<std::int64_t> && TensorElement<std::int32_t>);
static_assert(!TensorElement<float16> && !TensorElement<bfloat16> && !TensorElement<std::uint8_t>);
static_assert(!TensorElement<char> && !TensorElement<std::int8_t> && !TensorElement<std::uint64_t>);
static_assert(!Reducible<char> && !Reducible<bool>);

TEST(DataType, HasNamesOfFiles) {
    std::vector<std::string> names;
    for (const auto type : data_types) names.push_back(to_string(type));
    EXPECT_THAT(names, ElementsAre("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8",
                                   "int8", "int16", "uint16", "uint32", "uint64"));
}

TEST(DataType, AgreesWithTheTypesOfCpp) {
    for (const auto type : data_types)
        with_element(type, [&]<class Value>() {
            EXPECT_EQ(data_type_of<Value>, type);
            EXPECT_EQ(size_of(type), sizeof(Value)) << to_string(type);
            EXPECT_EQ(is_integer(type), std::is_integral_v<Value>) << to_string(type);
            EXPECT_EQ(is_real(type), !std::is_integral_v<Value>) << to_string(type);
            EXPECT_EQ(is_half(type), (std::is_same_v<Value, float16> || std::is_same_v<Value, bfloat16>))
                << to_string(type);
            EXPECT_EQ(is_tensor_type(type), TensorElement<Value>) << to_string(type);
        });
}

TEST(DataType, OfTensorsIsOneOfFour) {
    for (const auto type : tensor_types)
        with_tensor_element(type, [&]<class Value>() { EXPECT_EQ(data_type_of<Value>, type); });
    const auto use = [] { with_tensor_element(DataType::uint8, []<class Value>() {}); };
    EXPECT_EQ(message_of<DataTypeError>(use),
              "tensors: the type is uint8, expected float32, int64, float64 or int32");
    try {
        use();
        FAIL();
    } catch (const DataTypeError& error) {
        EXPECT_EQ(error.type(), DataType::uint8);
    }
}

TEST(DataType, IsAnErrorIfThereIsNone) {
    const auto none = static_cast<DataType>(data_types.size());
    EXPECT_THROW(static_cast<void>(to_string(none)), std::out_of_range);
    EXPECT_THROW(with_element(none, []<class Value>() {}), Error);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(DataType, HasItsFormerName) {
    EXPECT_EQ(ElementType::bfloat16, DataType::bfloat16);
    EXPECT_EQ(element_types, data_types);
}
#pragma GCC diagnostic pop

}  // namespace
}  // namespace dtrain
