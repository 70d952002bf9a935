// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <dtrain/dataset.hpp>
#include <dtrain/error.hpp>

#include "data/disk_dataset.hpp"
#include "data/read_dataset.hpp"
#include "storage/hash.hpp"

namespace dtrain {
namespace {

/// The compressed file in place of one that is missing.
void use_compressed(std::filesystem::path& file) {
    auto compressed = file;
    compressed += ".gz";
    std::error_code ignored;
    if (!file.empty() && !std::filesystem::exists(file, ignored) &&
        std::filesystem::exists(compressed, ignored))
        file = std::move(compressed);
}

DatasetSource present(DatasetSource source) {
    use_compressed(source.file);
    use_compressed(source.labels);
    return source;
}

}  // namespace

Dataset Dataset::read(const DatasetSource& given) {
    const auto source = present(given);
    return data::format_of(source).read(source);
}

std::shared_ptr<const DataSource> open_data(const DatasetSource& given, std::int64_t memory) {
    const auto source = present(given);
    if (data::format_of(source).format == DataFormat::hdf5) {
        auto samples = data::open_samples(source);
        const auto values = static_cast<double>(samples.count) * static_cast<double>(samples.features);
        if (values * sizeof(float) > static_cast<double>(memory))
            return std::make_shared<data::DiskDataset>(std::move(samples), memory);
    }
    auto data = std::make_shared<Dataset>(Dataset::read(source));
    if (data->size() > memory / static_cast<std::int64_t>(sizeof(float)) / data->features())
        throw UsageError(
            fmt::format("{}: {} samples of {} values need more memory than the {} bytes allowed; "
                        "as HDF5 they can stay on disk",
                        source.file.string(), data->size(), data->features(), memory));
    return data;
}

Dataset::Dataset(std::vector<float> x, std::vector<std::int64_t> labels, std::int64_t features)
    : x_(std::move(x)), labels_(std::move(labels)), features_(features) {
    if (labels_.empty() || features_ < 1 || x_.size() != labels_.size() * static_cast<std::size_t>(features_))
        throw UsageError(std::to_string(x_.size()) + " values are not " + std::to_string(labels_.size()) +
                         " samples of " + std::to_string(features_) + " values");
    const auto [min, greatest] = std::minmax_element(labels_.begin(), labels_.end());
    if (*min < 0) throw UsageError("label " + std::to_string(*min) + "; labels are 0, 1, 2, ...");
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
    storage::Hash hash;
    hash.add(static_cast<std::uint64_t>(features_));
    hash.add(std::span<const float>(x_));
    hash.add(std::span<const std::int64_t>(labels_));
    return hash.value();
}

}  // namespace dtrain
