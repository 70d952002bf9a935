// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/available_memory.hpp"
#include "base/oom_watch.hpp"
#include "base/text.hpp"
#include "data/read_dataset.hpp"
#include "data/svmlight_line.hpp"

namespace dtrain::data {
namespace {

/// Sparse samples: sample s has the values values[offsets[s]] .. values[offsets[s + 1]] of the features
/// `ids`, which ascend within a sample.
struct SparseRows {
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int64_t> ids = {};  ///< 0-based
    std::vector<float> values = {};
    std::vector<std::int64_t> labels = {};
    std::int64_t features = 0;
    std::int64_t text_bytes = 0;  ///< of all lines

    std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

void add_sample(SparseRows& data, const InputFile& file, SvmlightLine& line, const DatasetSource& source) {
    data.labels.push_back(label_in(file, line.label(), -1));
    while (const auto found = line.next()) {
        const auto feature = found->id - source.first_id;
        if (source.features > 0 && feature >= source.features)
            line.refuse(found->word, fmt::format("there are only {} features", source.features));
        if (static_cast<std::int64_t>(data.ids.size()) > data.offsets.back() && data.ids.back() >= feature)
            line.refuse(found->word, "feature ids have to ascend");
        data.ids.push_back(feature);
        data.values.push_back(number_in(file, found->value, source.scale));
        data.features = std::max(data.features, feature + 1);
    }
    data.offsets.push_back(static_cast<std::int64_t>(data.ids.size()));
}

SparseRows read_rows(const DatasetSource& source) {
    InputFile file(source.file);
    SparseRows data;
    std::string_view text;
    while (file.next_line(text)) {
        data.text_bytes += std::ssize(text) + 1;
        SvmlightLine line(file, text, source.first_id);
        if (!line.label().empty()) add_sample(data, file, line, source);
    }
    if (data.labels.empty()) file.refuse("there is no sample in it");
    const auto [min, greatest] = std::ranges::minmax(data.labels);
    if (min < 0) {
        if (greatest > 1 || std::ranges::find(data.labels, 0) != data.labels.end())
            file.refuse("the label -1 goes with the label 1 alone");
        for (auto& label : data.labels) label = label > 0 ? 1 : 0;
    }
    if (source.features > 0) data.features = source.features;
    return data;
}

/// Without this, one wrong id could create rows of any length: 19 bytes of input took 6 GB.
void check_length(const SparseRows& sparse, const DatasetSource& source) {
    constexpr double usual_bytes = 256 << 20;
    constexpr double max_for_a_byte = 1000;
    const auto bytes =
        static_cast<double>(sparse.size()) * static_cast<double>(sparse.features) * sizeof(float);
    if (source.features == 0 &&
        bytes > std::max(usual_bytes, max_for_a_byte * static_cast<double>(sparse.text_bytes)))
        throw UsageError(fmt::format(
            "{}: the feature id {} makes {} of {} values out of {}; is it one? If so, say how many features "
            "there "
            "are (features = {})",
            source.file.string(), sparse.features - 1 + source.first_id, counted(sparse.size(), "sample"),
            sparse.features, bytes_text(sparse.text_bytes), sparse.features));
}

}  // namespace

Dataset read_svmlight(const DatasetSource& source) {
    const auto sparse = read_rows(source);
    std::int64_t count = 0;
    if (sparse.features < 1) throw UsageError(source.file.string() + ": no sample has a feature");
    if (__builtin_mul_overflow(sparse.size(), sparse.features, &count) ||
        count > static_cast<std::int64_t>(std::vector<float>().max_size()))
        throw UsageError(fmt::format("{}: {} samples of {} features are more than memory holds",
                                     source.file.string(), sparse.size(), sparse.features));
    check_length(sparse, source);
    check_memory_at_hand(source.file.string(), count, sizeof(float));
    std::vector<float> x;
    try {
        x.resize(static_cast<std::size_t>(count));
    } catch (const std::bad_alloc&) {
        throw UsageError(fmt::format("{}: {} samples of {} features are more than memory holds",
                                     source.file.string(), sparse.size(), sparse.features));
    }
    for (std::size_t sample = 0; sample + 1 < sparse.offsets.size(); ++sample)
        for (auto at = sparse.offsets[sample]; at < sparse.offsets[sample + 1]; ++at) {
            const auto i = static_cast<std::size_t>(at);
            x[sample * static_cast<std::size_t>(sparse.features) + static_cast<std::size_t>(sparse.ids[i])] =
                sparse.values[i];
        }
    return Dataset(std::move(x), sparse.labels, sparse.features);
}

}  // namespace dtrain::data
