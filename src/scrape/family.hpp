// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Prometheus metrics as values, independent of its library, so that code with metrics need not link it.
namespace dtrain::scrape {

struct Label {
    std::string name;
    std::string value;
    friend bool operator==(const Label&, const Label&) = default;
};
using Labels = std::vector<Label>;

struct Histogram {
    struct Bucket {
        double bound = 0;         ///< the largest value in this bucket
        std::uint64_t count = 0;  ///< number of values up to the bound, including those of smaller buckets
        friend bool operator==(const Bucket&, const Bucket&) = default;
    };

    std::uint64_t count = 0;  ///< number of all values
    double sum = 0;
    std::vector<Bucket> buckets;  ///< by increasing bound; the bucket of all values is implied
    friend bool operator==(const Histogram&, const Histogram&) = default;
};

struct Sample {
    Labels labels;
    std::variant<double, Histogram> value;
    friend bool operator==(const Sample&, const Sample&) = default;
};

/// A metric: all samples that have its name.
struct Family {
    enum class Type { counter, gauge, histogram };

    std::string name;
    Type type = Type::gauge;
    std::string help;  ///< one line
    std::vector<Sample> samples;

    void add(Labels labels, double value) { samples.push_back({std::move(labels), value}); }
    void add(Labels labels, Histogram value) { samples.push_back({std::move(labels), std::move(value)}); }
    friend bool operator==(const Family&, const Family&) = default;
};

}  // namespace dtrain::scrape
