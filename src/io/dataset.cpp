// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include <dtrain/dataset.hpp>
#include <dtrain/error.hpp>

#include "io/hash.hpp"
#include "io/hdf5_file.hpp"

namespace dtrain {
namespace {

constexpr std::int64_t max_classes = 1'000'000;

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    return out + "]";
}

}  // namespace

Dataset Dataset::read(const DatasetSource& source) {
    const auto file = io::Hdf5File::open(source.file);
    const auto fail = [&](const std::string& dataset, const std::string& what) {
        throw UsageError(source.file.string() + ": dataset '" + dataset + "' " + what);
    };

    const auto x_info = file.info(source.x);
    if (x_info.type == io::Hdf5Type::other)
        fail(source.x, "holds neither integer nor floating point numbers");
    if (x_info.shape.size() < 2)
        fail(source.x,
             "has shape " + shape_text(x_info.shape) + "; samples need rank 2 or more, [samples, values]");
    if (x_info.count == 0) fail(source.x, "has shape " + shape_text(x_info.shape) + "; it is empty");
    const auto y_info = file.info(source.y);
    if (y_info.type != io::Hdf5Type::integer)
        fail(source.y, "does not hold integers; labels are class numbers");
    if (y_info.shape.size() != 1)
        fail(source.y, "has shape " + shape_text(y_info.shape) + "; labels need rank 1, [samples]");
    if (y_info.count != x_info.shape.front())
        fail(source.y, "has " + std::to_string(y_info.count) + " labels, but '" + source.x + "' has " +
                           std::to_string(x_info.shape.front()) + " samples");

    auto x = file.read_floats(source.x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] *= source.scale;
        if (!std::isfinite(x[i])) {
            const auto features = x.size() / static_cast<std::size_t>(y_info.count);
            fail(source.x,
                 "has a value that is not finite as float32, in sample " + std::to_string(i / features));
        }
    }
    auto labels = file.read_integers(source.y);
    const auto [least, greatest] = std::minmax_element(labels.begin(), labels.end());
    if (*least < 0) fail(source.y, "has the label " + std::to_string(*least) + "; labels are 0, 1, 2, ...");
    if (*greatest >= max_classes)
        fail(source.y, "has the label " + std::to_string(*greatest) + "; labels are class numbers below " +
                           std::to_string(max_classes));
    return Dataset(std::move(x), std::move(labels), x_info.count / y_info.count);
}

Dataset::Dataset(std::vector<float> x, std::vector<std::int64_t> labels, std::int64_t features)
    : x_(std::move(x)), labels_(std::move(labels)), features_(features) {
    if (labels_.empty() || features_ < 1 || x_.size() != labels_.size() * static_cast<std::size_t>(features_))
        throw UsageError(std::to_string(x_.size()) + " values are not " + std::to_string(labels_.size()) +
                         " samples of " + std::to_string(features_) + " values");
    const auto [least, greatest] = std::minmax_element(labels_.begin(), labels_.end());
    if (*least < 0) throw UsageError("label " + std::to_string(*least) + "; labels are 0, 1, 2, ...");
    classes_ = *greatest + 1;
}

std::span<const float> Dataset::x(std::int64_t sample) const {
    return std::span(x_).subspan(static_cast<std::size_t>(sample * features_),
                                 static_cast<std::size_t>(features_));
}

void Dataset::gather(std::span<const std::int64_t> samples, std::span<float> x,
                     std::span<std::int64_t> labels) const {
    if (x.size() != samples.size() * static_cast<std::size_t>(features_) || labels.size() != samples.size())
        throw Error("a batch of " + std::to_string(samples.size()) + " samples of " +
                    std::to_string(features_) + " values does not fit buffers of " +
                    std::to_string(x.size()) + " values and " + std::to_string(labels.size()) + " labels");
    auto row = x.begin();
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto values = this->x(samples[i]);
        row = std::copy(values.begin(), values.end(), row);
        labels[i] = label(samples[i]);
    }
}

std::uint64_t Dataset::fingerprint() const {
    io::Hash hash;
    hash.add(static_cast<std::uint64_t>(features_));
    hash.add(std::span<const float>(x_));
    hash.add(std::span<const std::int64_t>(labels_));
    return hash.value();
}

}  // namespace dtrain
