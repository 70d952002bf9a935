// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "io/read_dataset.hpp"

namespace dtrain {
namespace {

/// The text up to the next blank, which goes from `line`; empty at the end.
std::string_view next_word(std::string_view& line) {
    const auto begin = std::min(line.find_first_not_of(" \t"), line.size());
    const auto end = std::min(line.find_first_of(" \t", begin), line.size());
    const auto word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

void add_value(SparseDataset& data, const io::InputFile& file, std::string_view word,
               const DatasetSource& source) {
    const auto colon = word.find(':');
    if (colon == std::string_view::npos) file.refuse_line(fmt::format("'{}' is not ID:VALUE", word));
    if (word.substr(0, colon) == "qid") return;
    const auto id = parse_int<std::int64_t>(word.substr(0, colon));
    if (!id || *id < source.first_id)
        file.refuse_line(
            fmt::format("'{}': a feature id is a whole number, {} or more", word, source.first_id));
    const auto feature = *id - source.first_id;
    if (source.features > 0 && feature >= source.features)
        file.refuse_line(fmt::format("'{}': there are only {} features", word, source.features));
    if (static_cast<std::int64_t>(data.ids.size()) > data.offsets.back() && data.ids.back() >= feature)
        file.refuse_line(fmt::format("'{}': feature ids have to ascend", word));
    data.ids.push_back(feature);
    data.values.push_back(io::number_in(file, word.substr(colon + 1), source.scale));
    data.features = std::max(data.features, feature + 1);
}

}  // namespace

SparseDataset SparseDataset::read(const DatasetSource& source) {
    io::InputFile file(source.file);
    SparseDataset data;
    std::string_view line;
    while (file.next_line(line)) {
        line = line.substr(0, line.find('#'));
        const auto label = next_word(line);
        if (label.empty()) continue;
        data.labels.push_back(io::label_in(file, label, -1));
        for (auto word = next_word(line); !word.empty(); word = next_word(line))
            add_value(data, file, word, source);
        data.offsets.push_back(static_cast<std::int64_t>(data.ids.size()));
    }
    if (data.labels.empty()) file.refuse("there is no sample in it");
    const auto [least, greatest] = std::ranges::minmax(data.labels);
    if (least < 0) {
        if (greatest > 1 || std::ranges::find(data.labels, 0) != data.labels.end())
            file.refuse("the label -1 goes with the label 1 alone");
        for (auto& label : data.labels) label = label > 0 ? 1 : 0;
    }
    if (source.features > 0) data.features = source.features;
    return data;
}

Dataset io::read_svmlight(const DatasetSource& source) {
    const auto sparse = SparseDataset::read(source);
    std::int64_t count = 0;
    if (sparse.features < 1) throw UsageError(source.file.string() + ": no sample has a feature");
    if (__builtin_mul_overflow(sparse.size(), sparse.features, &count) ||
        count > static_cast<std::int64_t>(std::vector<float>().max_size()))
        throw UsageError(fmt::format("{}: {} samples of {} features are more than memory holds",
                                     source.file.string(), sparse.size(), sparse.features));
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

}  // namespace dtrain
