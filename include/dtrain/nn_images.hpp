// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dtrain/nn_layer.hpp>
#include <dtrain/size2d.hpp>

namespace dtrain::nn {

using dtrain::Size2d;

/// Cross-correlation of images x [batch, c, height, width] with a filter weight [channels, c, h, w], plus
/// bias [channels]. `padding` is the number of zeros around the images, less than the filter size. The result
/// is [batch, channels, h, w] with h = (height + 2 padding - filter) / stride + 1, rounded down.
/// @throws ProgramError if the shapes do not fit
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Size2d stride = 1,
              Size2d padding = 0);

/// The maximum over each window of each channel of x [batch, c, height, width]. Positions outside the images
/// are not counted. The gradient goes to the first of equal elements. Extents are computed as in conv2d().
/// @throws ProgramError if the shapes do not fit
Tensor max_pool2d(const Tensor& x, Size2d kernel_size, Size2d stride, Size2d padding = 0);
/// The mean over each window of each channel, as max_pool2d(). Positions outside the images are not counted
/// (PyTorch's count_include_pad=False, Paddle's exclusive=True).
Tensor avg_pool2d(const Tensor& x, Size2d kernel_size, Size2d stride, Size2d padding = 0);
/// The same with windows that lie side by side.
inline Tensor max_pool2d(const Tensor& x, Size2d kernel_size) {
    return max_pool2d(x, kernel_size, kernel_size);
}
/// The same with windows that lie side by side.
inline Tensor avg_pool2d(const Tensor& x, Size2d kernel_size) {
    return avg_pool2d(x, kernel_size, kernel_size);
}

/// Options of Conv2d.
struct Conv2dOptions {
    std::string name = {};              ///< stem of the parameters' names; "" picks conv2d_0, conv2d_1, ...
    DataType type = DataType::float32;  ///< of the parameters, float32 or float64
};

/// conv2d() as a layer. Its parameters are NAME.filter [out_channels, in_channels, kernel_size...], Xavier
/// uniform, and NAME.bias [out_channels], zero; these are the parameters of layers::conv2d(), and with the
/// same name they have the same initial values.
class Conv2d final : public Layer {
  public:
    /// @throws ProgramError if a number of channels is below 1, or kernel, stride or padding is invalid
    Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, Size2d stride = 1,
           Size2d padding = 0, const Conv2dOptions& options = {});

    /// conv2d() with this layer's parameters.
    Tensor forward(const Tensor& x) override { return conv2d(x, weight_, bias_, stride_, padding_); }

    const Parameter& weight() const { return weight_; }  ///< NAME.filter
    const Parameter& bias() const { return bias_; }      ///< NAME.bias

  private:
    Size2d stride_;
    Size2d padding_;
    Parameter weight_;
    Parameter bias_;
};

/// Base class of the pooling layers.
class Pool2d : public Layer {
  protected:
    /// @param layer its name in error messages
    /// @throws ProgramError if kernel, stride or padding is invalid
    Pool2d(const char* layer, Size2d kernel_size, Size2d stride, Size2d padding);

    Size2d kernel_size_;  ///< of a window
    Size2d stride_;       ///< from one window to the next
    Size2d padding_;      ///< positions outside the images
};

/// max_pool2d() as a layer.
class MaxPool2d final : public Pool2d {
  public:
    /// @throws ProgramError if kernel, stride or padding is invalid
    MaxPool2d(Size2d kernel_size, Size2d stride, Size2d padding = 0)
        : Pool2d("MaxPool2d", kernel_size, stride, padding) {}
    /// Windows that lie side by side. @throws ProgramError if kernel_size is invalid
    explicit MaxPool2d(Size2d kernel_size) : MaxPool2d(kernel_size, kernel_size) {}

    /// MaxPool2d({2, 3}): without this overload the braces could also mean the move constructor.
    explicit MaxPool2d(const std::int64_t (&kernel_size)[2])  // NOLINT: matches two values in braces only
        : MaxPool2d(Size2d(kernel_size[0], kernel_size[1])) {}

    /// max_pool2d() of x.
    Tensor forward(const Tensor& x) override { return max_pool2d(x, kernel_size_, stride_, padding_); }
};

/// avg_pool2d() as a layer.
class AvgPool2d final : public Pool2d {
  public:
    /// @throws ProgramError if kernel, stride or padding is invalid
    AvgPool2d(Size2d kernel_size, Size2d stride, Size2d padding = 0)
        : Pool2d("AvgPool2d", kernel_size, stride, padding) {}
    /// Windows that lie side by side. @throws ProgramError if kernel_size is invalid
    explicit AvgPool2d(Size2d kernel_size) : AvgPool2d(kernel_size, kernel_size) {}

    /// AvgPool2d({2, 3}): without this overload the braces could also mean the move constructor.
    explicit AvgPool2d(const std::int64_t (&kernel_size)[2])  // NOLINT: matches two values in braces only
        : AvgPool2d(Size2d(kernel_size[0], kernel_size[1])) {}

    /// avg_pool2d() of x.
    Tensor forward(const Tensor& x) override { return avg_pool2d(x, kernel_size_, stride_, padding_); }
};

/// Size2d
using Size2D [[deprecated("it is called Size2d")]] = Size2d;
/// Conv2dOptions
using Conv2DOptions [[deprecated("it is called Conv2dOptions")]] = Conv2dOptions;
/// Conv2d
using Conv2D [[deprecated("it is called Conv2d, as in PyTorch")]] = Conv2d;
/// MaxPool2d
using MaxPool2D [[deprecated("it is called MaxPool2d, as in PyTorch")]] = MaxPool2d;
/// AvgPool2d
using AvgPool2D [[deprecated("it is called AvgPool2d, as in PyTorch")]] = AvgPool2d;

}  // namespace dtrain::nn
