// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtrain::ps {

/// Metrics in the text format of Prometheus, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
class PrometheusText {
  public:
    struct Label {
        std::string_view name;
        std::string value;
    };
    using Labels = std::vector<Label>;

    /// What the next samples belong to. @param type "gauge", "counter" or "summary"
    void begin(std::string_view name, std::string_view type, std::string_view help);

    /// @param suffix behind the metric's name: "_sum"
    void add(const Labels& labels, double value, std::string_view suffix = {});

    const std::string& text() const { return text_; }

  private:
    std::string name_;
    std::string text_;
};

}  // namespace dtrain::ps
