# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A fully connected network, its gradients and Adam in numpy, float64, written from the formulas and not from dtrain's
code: forward y = x W + b, tanh between the layers, softmax cross entropy; Adam as Kingma and Ba's algorithm 1. And the
order of samples that (seed, epoch) stands for, as sampler.hpp says it: Fisher-Yates with SplitMix64; first values of
weights; the random numbers of the C++ library."""
import gzip
import struct

import numpy

MASK = (1 << 64) - 1


class SplitMix64:
    """S. Vigna's splitmix64.c."""

    def __init__(self, state):
        self.state = state & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def below(self, bound):
        while (number := self.next()) < (1 << 64) % bound:
            pass
        return number % bound


def shuffled_order(count, seed, epoch):
    random = SplitMix64(SplitMix64(SplitMix64(seed).next() ^ epoch).next())
    order = list(range(count))
    for i in range(count, 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def read_idx(path):
    data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    dimensions = data[3]
    shape = struct.unpack(f">{dimensions}I", data[4:4 + 4 * dimensions])
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def units(seed, name, count):
    """Numbers even in [0, 1) that are made from seed, name and their place alone."""
    def mixed(x):
        return SplitMix64(x).next()
    key = mixed(seed ^ len(name))
    for at in range(0, len(name), 8):
        key = mixed(key ^ int.from_bytes(name[at:at + 8].encode(), "little"))
    return numpy.array([(mixed(key + i) >> 11) * 2.0**-53 for i in range(count)])


def initial_values(seed, name, shape, fan_in, fan_out):
    """A weight's first values: Xavier's uniform, as program.hpp says; float32, as float64."""
    bound = (6 / (fan_in + fan_out)) ** .5
    values = (2 * units(seed, name, int(numpy.prod(shape))) - 1) * bound
    return values.astype(numpy.float32).astype(float).reshape(shape)


def initial_weight(seed, name, shape):
    return initial_values(seed, name, shape, *shape).astype(numpy.float32)


class Mt19937:
    """std::mt19937, and std::normal_distribution<float> as GCC's library has it: G. Marsaglia's polar method."""

    def __init__(self, seed):
        self.random = numpy.random.RandomState(seed)
        self.saved = None

    def bits(self, count):
        return self.random.randint(0, 1 << 32, count, dtype=numpy.uint32)

    def normal(self):
        if self.saved is not None:
            value, self.saved = self.saved, None
            return value
        f = numpy.float32
        while True:
            x, y = (f(2) * (f(each) * f(2.0**-32)) - f(1) for each in self.bits(2))
            square = x * x + y * y
            if 0 < square <= 1:
                break
        factor = numpy.sqrt(f(-2) * numpy.log(square) / square)
        self.saved = x * factor
        return y * factor


class Adam:
    def __init__(self, values, rate):
        self.values = values
        self.rate = rate
        self.first = [numpy.zeros_like(value) for value in values]
        self.second = [numpy.zeros_like(value) for value in values]
        self.steps = 0

    def step(self, gradients, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.steps += 1
        for value, g, m, v in zip(self.values, gradients, self.first, self.second):
            m += (1 - beta1) * (g - m)
            v += (1 - beta2) * (g * g - v)
            value -= self.rate * m / (1 - beta1**self.steps) / (numpy.sqrt(v / (1 - beta2**self.steps)) + epsilon)


class Mlp:
    """layers: pairs of a weight [n, m] and a bias [m], first layer first."""

    def __init__(self, layers, learning_rate):
        self.values = [numpy.array(value, numpy.float64) for layer in layers for value in layer]
        self.adam = Adam(self.values, learning_rate)

    def forward(self, x):
        outputs = [x]
        for at in range(0, len(self.values), 2):
            z = outputs[-1] @ self.values[at] + self.values[at + 1]
            outputs.append(numpy.tanh(z) if at + 2 < len(self.values) else z)
        return outputs

    def step(self, x, labels):
        """One update; the loss of each row before it."""
        outputs = self.forward(x)
        logits = outputs.pop()
        logits = logits - logits.max(axis=1, keepdims=True)
        logs = logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))
        rows = numpy.arange(len(labels))
        delta = numpy.exp(logs)
        delta[rows, labels] -= 1
        delta /= len(labels)
        gradients = [None] * len(self.values)
        for at in range(len(self.values) - 2, -1, -2):
            below = outputs[at // 2]
            gradients[at], gradients[at + 1] = below.T @ delta, delta.sum(axis=0)
            delta = delta @ self.values[at].T * (1 - below**2)
        self.adam.step(gradients)
        return -logs[rows, labels]
