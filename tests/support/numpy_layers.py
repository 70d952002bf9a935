# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Layers and their gradients in numpy, float64, written from the formulas and not from dtrain's code: fully connected ones,
ReLU, convolution (cross-correlation, as in all frameworks: each window of an image is a row of a matrix) and maxima of
windows; networks of them with softmax cross entropy and Adam. Weights begin with what (seed, name) says, biases with 0."""
import numpy

from numpy_mlp import Adam, initial_values


class Linear:
    def __init__(self, name, inputs, outputs):
        self.values = [initial_values(1, f"{name}.weight", (inputs, outputs), inputs, outputs), numpy.zeros(outputs)]

    def forward(self, x):
        self.x = x
        return x @ self.values[0] + self.values[1]

    def backward(self, slope):
        return slope @ self.values[0].T, [self.x.T @ slope, slope.sum(0)]


class Relu:
    values = []

    def forward(self, x):
        self.is_above = x > 0
        return x * self.is_above

    def backward(self, slope):
        return slope * self.is_above, []


class Flatten:
    values = []

    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, slope):
        return slope.reshape(self.shape), []


class Conv3x3:
    """Stride 1 and a frame of zeros: images [batch, channels, height, width] keep height and width."""

    def __init__(self, name, channels_in, channels_out):
        shape = (channels_out, channels_in, 3, 3)
        self.values = [initial_values(1, f"{name}.filter", shape, channels_in * 9, channels_out * 9), numpy.zeros(channels_out)]

    def forward(self, x):
        self.shape = x.shape
        framed = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = numpy.lib.stride_tricks.sliding_window_view(framed, (3, 3), (2, 3))
        self.rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)
        out = self.rows @ self.values[0].reshape(len(self.values[0]), -1).T + self.values[1]
        return out.reshape(x.shape[0], *x.shape[2:], -1).transpose(0, 3, 1, 2)

    def backward(self, slope):
        batch, channels, height, width = self.shape
        of_rows = slope.transpose(0, 2, 3, 1).reshape(-1, slope.shape[1])
        filters = self.values[0]
        windows = (of_rows @ filters.reshape(len(filters), -1)).reshape(batch, height, width, channels, 3, 3)
        framed = numpy.zeros((batch, channels, height + 2, width + 2))
        for y in range(3):
            for x in range(3):
                framed[:, :, y:y + height, x:x + width] += windows[..., y, x].transpose(0, 3, 1, 2)
        return framed[:, :, 1:-1, 1:-1], [(of_rows.T @ self.rows).reshape(filters.shape), of_rows.sum(0)]


class MaxPool2x2:
    values = []

    def forward(self, x):
        batch, channels, height, width = self.shape = x.shape
        windows = x.reshape(batch, channels, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        windows = windows.reshape(*windows.shape[:4], 4)
        self.at = windows.argmax(-1)[..., None]
        return numpy.take_along_axis(windows, self.at, -1)[..., 0]

    def backward(self, slope):
        windows = numpy.zeros((*slope.shape, 4))
        numpy.put_along_axis(windows, self.at, slope[..., None], -1)
        windows = windows.reshape(*slope.shape, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return windows.reshape(self.shape), []


class Classifier:
    def __init__(self, layers, rate):
        self.layers = layers
        self.adam = Adam([value for layer in layers for value in layer.values], rate)

    def logarithms(self, x):
        """Of each class' chance."""
        for layer in self.layers:
            x = layer.forward(x)
        x = x - x.max(axis=1, keepdims=True)
        return x - numpy.log(numpy.exp(x).sum(axis=1, keepdims=True))

    def loss(self, x, labels):
        return -self.logarithms(x)[numpy.arange(len(labels)), labels].mean()

    def step(self, x, labels):
        """One update; the loss before it."""
        logarithms = self.logarithms(x)
        rows = numpy.arange(len(labels))
        slope = numpy.exp(logarithms)
        slope[rows, labels] -= 1
        slope /= len(labels)
        gradients = []
        for layer in reversed(self.layers):
            slope, own = layer.backward(slope)
            gradients = own + gradients
        self.adam.step(gradients)
        return -logarithms[rows, labels].mean()
