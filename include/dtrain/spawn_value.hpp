// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>

/// Serialisation of the arguments and results of a function that spawn() runs: as bytes, through a file,
/// between processes of the same program on the same machine.
namespace dtrain {

/// Bytes, read from the front. @throws Error if fewer bytes are left than are read
class SpawnBytes {
  public:
    /// @param bytes must outlive the reader
    explicit SpawnBytes(std::string_view bytes) : rest_(bytes) {}

    /// Removes bytes from the front. @throws Error if fewer are left
    std::string_view take(std::size_t count) {
        if (count > rest_.size()) throw Error("what spawn() wrote for a rank, or a rank for it, is cut off");
        const auto taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    /// Whether nothing is left.
    bool is_empty() const { return rest_.empty(); }

  private:
    std::string_view rest_;
};

/// Specialise it for your own types: write() appends a value to bytes, read() takes it from them.
///
///     template <>
///     struct dtrain::SpawnValue<Settings> {
///         static void write(const Settings& value, std::string& bytes) {
///             SpawnValue<double>::write(value.rate, bytes);
///         }
///         static Settings read(SpawnBytes& bytes) { return {SpawnValue<double>::read(bytes)}; }
///     };
///
/// Supported are numbers, enumerations and std::string, and std::vector, array, map, optional, pair and tuple
/// of supported types.
template <class T>
struct SpawnValue {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>,
                  "dtrain::spawn: values of this type cannot travel; specialise dtrain::SpawnValue for it");

    /// Appends the value's bytes.
    static void write(const T& value, std::string& bytes) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    /// Takes the value from the front. @throws Error if the bytes are cut off
    static T read(SpawnBytes& bytes) {
        T value;
        const auto from = bytes.take(sizeof value);
        std::memcpy(&value, from.data(), from.size());
        return value;
    }
};

/// A length, then the characters.
template <>
struct SpawnValue<std::string> {
    /// Appends the text.
    static void write(const std::string& value, std::string& bytes) {
        SpawnValue<std::size_t>::write(value.size(), bytes);
        bytes += value;
    }

    /// Takes the text from the front. @throws Error if the bytes are cut off
    static std::string read(SpawnBytes& bytes) {
        return std::string(bytes.take(SpawnValue<std::size_t>::read(bytes)));
    }
};

/// A length, then the elements.
template <class T>
struct SpawnValue<std::vector<T>> {
    /// Appends all elements.
    static void write(const std::vector<T>& values, std::string& bytes) {
        SpawnValue<std::size_t>::write(values.size(), bytes);
        for (const T& value : values) SpawnValue<T>::write(value, bytes);
    }

    /// Takes all elements from the front. @throws Error if the bytes are cut off
    static std::vector<T> read(SpawnBytes& bytes) {
        std::vector<T> values;
        for (auto left = SpawnValue<std::size_t>::read(bytes); left > 0; --left)
            values.push_back(SpawnValue<T>::read(bytes));
        return values;
    }
};

/// The elements.
template <class T, std::size_t n>
struct SpawnValue<std::array<T, n>> {
    /// Appends all elements.
    static void write(const std::array<T, n>& values, std::string& bytes) {
        for (const T& value : values) SpawnValue<T>::write(value, bytes);
    }

    /// Takes all elements from the front. @throws Error if the bytes are cut off
    static std::array<T, n> read(SpawnBytes& bytes) {
        std::array<T, n> values;
        for (T& value : values) value = SpawnValue<T>::read(bytes);
        return values;
    }
};

/// Whether there is a value, then the value.
template <class T>
struct SpawnValue<std::optional<T>> {
    /// Appends the value, if there is one.
    static void write(const std::optional<T>& value, std::string& bytes) {
        SpawnValue<bool>::write(value.has_value(), bytes);
        if (value) SpawnValue<T>::write(*value, bytes);
    }

    /// Takes the value from the front. @throws Error if the bytes are cut off
    static std::optional<T> read(SpawnBytes& bytes) {
        if (!SpawnValue<bool>::read(bytes)) return std::nullopt;
        return SpawnValue<T>::read(bytes);
    }
};

/// Both values.
template <class A, class B>
struct SpawnValue<std::pair<A, B>> {
    /// Appends both values.
    static void write(const std::pair<A, B>& value, std::string& bytes) {
        SpawnValue<A>::write(value.first, bytes);
        SpawnValue<B>::write(value.second, bytes);
    }

    /// Takes both values from the front. @throws Error if the bytes are cut off
    static std::pair<A, B> read(SpawnBytes& bytes) {
        auto first = SpawnValue<A>::read(bytes);
        return {std::move(first), SpawnValue<B>::read(bytes)};
    }
};

/// A length, then the pairs.
template <class Key, class T>
struct SpawnValue<std::map<Key, T>> {
    /// Appends all pairs.
    static void write(const std::map<Key, T>& values, std::string& bytes) {
        SpawnValue<std::size_t>::write(values.size(), bytes);
        for (const auto& [key, value] : values) {
            SpawnValue<Key>::write(key, bytes);
            SpawnValue<T>::write(value, bytes);
        }
    }

    /// Takes all pairs from the front. @throws Error if the bytes are cut off
    static std::map<Key, T> read(SpawnBytes& bytes) {
        std::map<Key, T> values;
        for (auto left = SpawnValue<std::size_t>::read(bytes); left > 0; --left)
            values.insert(SpawnValue<std::pair<Key, T>>::read(bytes));
        return values;
    }
};

/// All values.
template <class... T>
struct SpawnValue<std::tuple<T...>> {
    /// Appends all values.
    static void write(const std::tuple<T...>& values, std::string& bytes) {
        std::apply([&](const T&... value) { (SpawnValue<T>::write(value, bytes), ...); }, values);
    }

    /// Takes all values from the front. @throws Error if the bytes are cut off
    static std::tuple<T...> read([[maybe_unused]] SpawnBytes& bytes) {
        // Braces, because they are evaluated from left to right.
        return std::tuple<T...>{SpawnValue<T>::read(bytes)...};
    }
};

}  // namespace dtrain
