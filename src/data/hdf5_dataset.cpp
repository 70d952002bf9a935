// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include <dtrain/error.hpp>

#include "data/disk_dataset.hpp"
#include "data/read_dataset.hpp"

namespace dtrain::data {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return out + "]";
}

[[noreturn]] void fail(const DatasetSource& source, const std::string& dataset, const std::string& what) {
    throw UsageError(source.file.string() + ": dataset '" + dataset + "' " + what);
}

}  // namespace

Hdf5Samples open_samples(const DatasetSource& source) {
    auto file = storage::Hdf5File::open(source.file);
    const auto x_info = file.info(source.x);
    if (x_info.type == storage::Hdf5Type::other)
        fail(source, source.x, "holds neither integer nor floating point numbers");
    if (x_info.shape.size() < 2)
        fail(source, source.x,
             "has shape " + shape_text(x_info.shape) + "; samples need rank 2 or more, [samples, values]");
    if (x_info.count == 0) fail(source, source.x, "has shape " + shape_text(x_info.shape) + "; it is empty");
    const auto y_info = file.info(source.y);
    if (y_info.type != storage::Hdf5Type::integer)
        fail(source, source.y, "does not hold integers; labels are class numbers");
    if (y_info.shape.size() != 1)
        fail(source, source.y, "has shape " + shape_text(y_info.shape) + "; labels need rank 1, [samples]");
    if (y_info.count != x_info.shape.front())
        fail(source, source.y,
             "has " + std::to_string(y_info.count) + " labels, but '" + source.x + "' has " +
                 std::to_string(x_info.shape.front()) + " samples");

    auto labels = file.read_integers(source.y);
    const auto [min, greatest] = std::minmax_element(labels.begin(), labels.end());
    if (*min < 0)
        fail(source, source.y, "has the label " + std::to_string(*min) + "; labels are 0, 1, 2, ...");
    if (*greatest >= max_classes)
        fail(source, source.y,
             "has the label " + std::to_string(*greatest) + "; labels are class numbers below " +
                 std::to_string(max_classes));
    const auto samples = y_info.count;
    return {source, std::move(file), samples, x_info.count / samples, std::move(labels)};
}

Dataset read_hdf5(const DatasetSource& source) {
    auto samples = open_samples(source);
    auto x = samples.file.read_floats(source.x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] *= source.scale;
        if (!std::isfinite(x[i]))
            fail(source, source.x,
                 "has a value that is not finite as float32, in sample " +
                     std::to_string(i / static_cast<std::size_t>(samples.features)));
    }
    return Dataset(std::move(x), std::move(samples.labels), samples.features);
}

}  // namespace dtrain::data
