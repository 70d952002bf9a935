// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <dtrain/data_type.hpp>
#include <dtrain/error.hpp>

namespace dtrain {

/// A non-owning view of elements whose type is known at run time: the counterpart of std::span, whose type is
/// known at compile time. Implicitly constructed from a std::vector, std::array or std::span of numbers.
class ElementSpan {
  public:
    /// An empty span of float32.
    ElementSpan() = default;

    /// A view of all elements of a vector, array or span of numbers.
    template <std::ranges::contiguous_range Range>
    requires(std::ranges::borrowed_range<Range>&& std::ranges::sized_range<Range>&&
                 Reducible<std::remove_reference_t<std::ranges::range_reference_t<Range>>>)
        ElementSpan(Range&& elements)  // NOLINT(google-explicit-constructor): as that of std::span
        : ElementSpan(data_type_of<std::ranges::range_value_t<Range>>, std::ranges::data(elements),
                      std::ranges::size(elements)) {}

    /// @param data aligned for the type
    /// @param size elements
    ElementSpan(DataType type, void* data, std::size_t size)
        : type_(type), data_(static_cast<std::byte*>(data)), size_(size) {}

    /// Type of the elements.
    DataType type() const { return type_; }
    std::size_t size() const { return size_; }  ///< elements
    /// The elements' memory.
    std::span<std::byte> bytes() const { return {data_, size_ * size_of(type_)}; }

    /// The first `count` elements; size() must be at least `count`.
    ElementSpan first(std::size_t count) const { return {type_, data_, count}; }

    /// @throws Error if the elements have another type
    template <Reducible T>
    std::span<T> as() const {
        if (type_ != data_type_of<T>)
            throw Error(to_string(type_) + " elements were asked for as " + to_string(data_type_of<T>));
        return {reinterpret_cast<T*>(data_), size_};
    }

  private:
    DataType type_ = DataType::float32;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dtrain
