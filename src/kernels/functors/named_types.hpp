// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace dtrain::kernels {

/// A list of types that each have a name, `type`.
template <class... Types>
struct NamedTypes {
    static constexpr std::size_t size = sizeof...(Types);
    static constexpr std::array<std::string_view, size> types{Types::type...};

    static constexpr bool contains(std::string_view type) { return ((Types::type == type) || ...); }

    template <std::size_t number>
    using at = std::tuple_element_t<number, std::tuple<Types...>>;

    /// Calls visit(std::type_identity<Type>()) for each.
    template <class Visit>
    static constexpr void for_each(const Visit& visit) {
        (visit(std::type_identity<Types>()), ...);
    }

    template <class... Others>
    friend constexpr NamedTypes<Types..., Others...> operator+(NamedTypes, NamedTypes<Others...>) {
        return {};
    }
};

}  // namespace dtrain::kernels
