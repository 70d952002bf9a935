// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dtrain/nn_layer.hpp>

namespace dtrain::nn {

/// Height and width; a single number is both: Conv2D(1, 6, 5) and Conv2D(1, 6, {3, 5}).
struct Size2D {
    std::int64_t height;
    std::int64_t width;

    Size2D(std::int64_t both) : height(both), width(both) {}  // NOLINT: one or two numbers, as in Paddle
    Size2D(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}

    friend bool operator==(const Size2D&, const Size2D&) = default;
};

/// Cross-correlation of images x [batch, c, height, width] with a filter weight [channels, c, h, w], plus
/// bias [channels]. `padding` is the number of zeros around the images, less than the filter size. The result
/// is [batch, channels, h, w] with h = (height + 2 padding - filter) / stride + 1, rounded down.
/// @throws ProgramError if the shapes do not fit
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Size2D stride = 1,
              Size2D padding = 0);

/// The maximum, or the mean, over each window of each channel of x [batch, c, height, width]; without a
/// stride the windows are adjacent. Positions outside the images are not counted (Paddle's exclusive=True).
/// The gradient of a maximum goes to the first of equal elements. Extents are computed as in conv2d().
Tensor max_pool2d(const Tensor& x, Size2D kernel_size, Size2D stride, Size2D padding = 0);
Tensor avg_pool2d(const Tensor& x, Size2D kernel_size, Size2D stride, Size2D padding = 0);
inline Tensor max_pool2d(const Tensor& x, Size2D kernel_size) {
    return max_pool2d(x, kernel_size, kernel_size);
}
inline Tensor avg_pool2d(const Tensor& x, Size2D kernel_size) {
    return avg_pool2d(x, kernel_size, kernel_size);
}

struct Conv2DOptions {
    std::string name = {};  ///< stem of the parameters' names; "" picks conv2d_0, conv2d_1, ...
    DataType type = DataType::float32;
};

/// conv2d() as a layer. Its parameters are NAME.filter [out_channels, in_channels, kernel_size...], Xavier
/// uniform, and NAME.bias [out_channels], zero; these are the parameters of layers::conv2d(), and with the
/// same name they have the same initial values.
class Conv2D final : public Layer {
  public:
    /// @throws ProgramError if a number of channels is below 1, or kernel, stride or padding is invalid
    Conv2D(std::int64_t in_channels, std::int64_t out_channels, Size2D kernel_size, Size2D stride = 1,
           Size2D padding = 0, const Conv2DOptions& options = {});

    Tensor forward(const Tensor& x) override { return conv2d(x, weight_, bias_, stride_, padding_); }

    const Parameter& weight() const { return weight_; }
    const Parameter& bias() const { return bias_; }

  private:
    Size2D stride_;
    Size2D padding_;
    Parameter weight_;
    Parameter bias_;
};

/// Base class of the pooling layers.
class Pool2D : public Layer {
  protected:
    /// @param layer its name in error messages
    /// @throws ProgramError if kernel, stride or padding is invalid
    Pool2D(const char* layer, Size2D kernel_size, Size2D stride, Size2D padding);

    Size2D kernel_size_;
    Size2D stride_;
    Size2D padding_;
};

/// max_pool2d() as a layer.
class MaxPool2D final : public Pool2D {
  public:
    /// @throws ProgramError if kernel, stride or padding is invalid
    MaxPool2D(Size2D kernel_size, Size2D stride, Size2D padding = 0)
        : Pool2D("MaxPool2D", kernel_size, stride, padding) {}
    explicit MaxPool2D(Size2D kernel_size) : MaxPool2D(kernel_size, kernel_size) {}

    /// MaxPool2D({2, 3}): without this overload the braces could also mean the move constructor.
    explicit MaxPool2D(const std::int64_t (&kernel_size)[2])  // NOLINT: matches two values in braces only
        : MaxPool2D(Size2D(kernel_size[0], kernel_size[1])) {}

    Tensor forward(const Tensor& x) override { return max_pool2d(x, kernel_size_, stride_, padding_); }
};

/// avg_pool2d() as a layer.
class AvgPool2D final : public Pool2D {
  public:
    /// @throws ProgramError if kernel, stride or padding is invalid
    AvgPool2D(Size2D kernel_size, Size2D stride, Size2D padding = 0)
        : Pool2D("AvgPool2D", kernel_size, stride, padding) {}
    explicit AvgPool2D(Size2D kernel_size) : AvgPool2D(kernel_size, kernel_size) {}

    /// AvgPool2D({2, 3}): without this overload the braces could also mean the move constructor.
    explicit AvgPool2D(const std::int64_t (&kernel_size)[2])  // NOLINT: matches two values in braces only
        : AvgPool2D(Size2D(kernel_size[0], kernel_size[1])) {}

    Tensor forward(const Tensor& x) override { return avg_pool2d(x, kernel_size_, stride_, padding_); }
};

}  // namespace dtrain::nn
