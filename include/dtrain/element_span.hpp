// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <dtrain/comm_call.hpp>
#include <dtrain/error.hpp>

namespace dtrain {

namespace comm {
/// "float32", "bfloat16", "uint8" ...
std::string to_string(ElementType type);
}  // namespace comm

using comm::ElementType;
using comm::to_string;

/// All element types.
inline constexpr std::array element_types{ElementType::float32,  ElementType::float64, ElementType::float16,
                                          ElementType::bfloat16, ElementType::int32,   ElementType::int64,
                                          ElementType::uint8};

/// A non-owning view of elements whose type is known at run time: the counterpart of std::span, whose type is
/// known at compile time. Implicitly constructed from a std::vector, std::array or std::span of numbers.
class ElementSpan {
  public:
    /// An empty span of float32.
    ElementSpan() = default;

    template <std::ranges::contiguous_range Range>
    requires(std::ranges::borrowed_range<Range>&& std::ranges::sized_range<Range>&&
                 Reducible<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
        ElementSpan(Range&& elements)  // NOLINT(google-explicit-constructor): as that of std::span
        : ElementSpan(comm::element_type<std::ranges::range_value_t<Range>>(), std::ranges::data(elements),
                      std::ranges::size(elements)) {}

    /// @param data aligned for the type
    /// @param size elements
    ElementSpan(ElementType type, void* data, std::size_t size)
        : type_(type), data_(static_cast<std::byte*>(data)), size_(size) {}

    ElementType type() const { return type_; }
    std::size_t size() const { return size_; }  ///< elements
    std::span<std::byte> bytes() const { return {data_, size_ * comm::bytes_of(type_)}; }

    /// The first `count` elements; size() must be at least `count`.
    ElementSpan first(std::size_t count) const { return {type_, data_, count}; }

    /// @throws Error if the elements have another type
    template <Reducible T>
    std::span<T> as() const {
        if (type_ != comm::element_type<T>())
            throw Error(to_string(type_) + " elements were asked for as " +
                        to_string(comm::element_type<T>()));
        return {reinterpret_cast<T*>(data_), size_};
    }

  private:
    ElementType type_ = ElementType::float32;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dtrain
