// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <dtrain/dataset.hpp>
#include <dtrain/nn.hpp>

namespace dtrain::nn {

/// For images [batch, 1, 8, 8] of 4 classes.
inline Sequential image_network() {
    return Sequential{Conv2d(1, 4, {3, 5}, 1, {1, 2}),
                      ReLU(),
                      MaxPool2d(2),
                      Conv2d(4, 6, 3, {2, 1}),
                      ReLU(),
                      AvgPool2d({1, 2}),
                      Flatten(),
                      Linear(6, 4)};
}

/// For rows of 5 words of 10, as real numbers, and 4 classes; word 3 is none.
class WordNetwork : public Layer {
  public:
    Tensor forward(const Tensor& x) override {
        const auto normal = norm_(words_(cast(x, DataType::int64)));
        return last_(hidden_norm_(tanh(hidden_(flatten(normal)))));
    }

  private:
    Embedding& words_ = add<Embedding>(10, 8, EmbeddingOptions{.padding_idx = 3});
    LayerNorm& norm_ = add<LayerNorm>(8);
    Linear& hidden_ = add<Linear>(40, 16);
    LayerNorm& hidden_norm_ = add<LayerNorm>(16, 1e-3);
    Linear& last_ = add<Linear>(16, 4);
};

/// Rows of words whose class a network can learn: it shifts which of them there are.
inline Dataset word_like(std::int64_t samples) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < samples; ++i) {
        labels.push_back(i * 7 % 4);
        for (std::int64_t j = 0; j < 5; ++j)
            x.push_back(static_cast<float>((labels.back() * 2 + (i * j + j) % 4) % 10));
    }
    return {std::move(x), std::move(labels), 5};
}

}  // namespace dtrain::nn
