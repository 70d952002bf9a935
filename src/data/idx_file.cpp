// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/regular_file.hpp"
#include "data/read_dataset.hpp"

namespace dtrain::data {
namespace {

/// An IDX file (Y. LeCun, the MNIST database): two zero bytes, the element type, the number of dimensions,
/// their sizes as 32-bit integers, then the elements; all big endian.
struct Idx {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
};

std::uint64_t big_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (const auto byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
    return value;
}

std::size_t bytes_of(unsigned type) {
    switch (type) {
        case 0x08:
        case 0x09:
            return 1;
        case 0x0b:
            return 2;
        case 0x0c:
        case 0x0d:
            return 4;
        case 0x0e:
            return 8;
        default:
            return 0;
    }
}

double element(unsigned type, std::span<const std::byte> bytes) {
    const auto bits = big_endian(bytes);
    switch (type) {
        case 0x08:
            return static_cast<double>(bits);
        case 0x09:
            return static_cast<std::int8_t>(bits);
        case 0x0b:
            return static_cast<std::int16_t>(bits);
        case 0x0c:
            return static_cast<std::int32_t>(bits);
        case 0x0d:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        default:
            return std::bit_cast<double>(bits);
    }
}

/// Calls `use` with the index and the value of each element.
template <class Use>
std::vector<std::int64_t> read_elements(const std::filesystem::path& path, const Use& use) {
    open_regular_file(path);
    InputFile file(path);
    const auto fill = [&](std::span<std::byte> buffer) {
        if (file.read(buffer) != buffer.size()) file.refuse("the IDX file is cut off");
    };
    std::array<std::byte, 4> head{};
    fill(head);
    const auto type = std::to_integer<unsigned>(head[2]);
    const auto size = bytes_of(type);
    if (head[0] != std::byte{0} || head[1] != std::byte{0} || size == 0)
        file.refuse("this is no IDX file, or its beginning is damaged");
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (auto dimensions = std::to_integer<int>(head[3]); dimensions > 0; --dimensions) {
        std::array<std::byte, 4> extent{};
        fill(extent);
        shape.push_back(static_cast<std::int64_t>(big_endian(extent)));
        if (__builtin_mul_overflow(count, shape.back(), &count))
            file.refuse("the IDX file has an impossible size");
    }
    check_memory_at_hand(path.string(), count, sizeof(float));
    std::vector<std::byte> block(std::size_t{1} << 16U);
    for (std::int64_t done = 0; done < count;) {
        const auto take = std::min(count - done, static_cast<std::int64_t>(block.size() / size));
        const auto bytes = std::span(block).first(static_cast<std::size_t>(take) * size);
        fill(bytes);
        for (std::int64_t i = 0; i < take; ++i)
            use(done + i, element(type, bytes.subspan(static_cast<std::size_t>(i) * size, size)));
        done += take;
    }
    std::byte more{};
    if (file.read({&more, 1}) != 0) file.refuse("the IDX file goes on behind its last element");
    return shape;
}

std::filesystem::path labels_of(const DatasetSource& source) {
    if (!source.labels.empty()) return source.labels;
    auto name = source.file.filename().string();
    const auto at = name.find("images");
    if (at == std::string::npos)
        throw UsageError(fmt::format("{}: an IDX file of samples needs 'labels', the file of their labels",
                                     source.file.string()));
    name.replace(at, 6, "labels");
    if (const auto kind = name.find("idx3"); kind != std::string::npos) name.replace(kind, 4, "idx1");
    return source.file.parent_path() / name;
}

}  // namespace

Dataset read_idx(const DatasetSource& source) {
    const auto fail = [](const std::filesystem::path& path, const std::string& what) {
        throw UsageError(path.string() + ": " + what);
    };
    std::vector<float> x;
    const auto shape = read_elements(source.file, [&](std::int64_t number, double value) {
        x.push_back(static_cast<float>(value) * source.scale);
        if (!std::isfinite(x.back()))
            fail(source.file, fmt::format("element {} is not finite as float32", number));
    });
    if (shape.size() < 2 || x.empty())
        fail(source.file, "samples need two dimensions or more, and one element or more");
    const auto labels_file = labels_of(source);
    std::vector<std::int64_t> labels;
    const auto labels_shape = read_elements(labels_file, [&](std::int64_t number, double value) {
        if (!(value >= 0 && value < static_cast<double>(max_classes)) || value != std::floor(value))
            fail(labels_file, fmt::format("label {} is {}; labels are class numbers", number, value));
        labels.push_back(static_cast<std::int64_t>(value));
    });
    if (labels_shape.size() != 1) fail(labels_file, "labels need one dimension");
    if (labels_shape.front() != shape.front())
        fail(labels_file, fmt::format("{} labels, but {} has {} samples", labels_shape.front(),
                                      source.file.string(), shape.front()));
    const auto features = static_cast<std::int64_t>(x.size()) / shape.front();
    return Dataset(std::move(x), std::move(labels), features);
}

}  // namespace dtrain::data
