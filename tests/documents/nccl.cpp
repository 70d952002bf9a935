// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A main function with memory of a GPU, and what CUDA's header declares.
#include <span>

int cudaSetDevice(int number);

void train(int argc, char** argv, std::span<float> gradients, int number) {
    {
        // the block
    }
}
