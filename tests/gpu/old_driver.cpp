// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A library with the name of NVIDIA's driver that says that it is one of CUDA 10.2, too old for whatever CUDA
// dtrain is built with.
extern "C" int cuDriverGetVersion(int* version) {
    *version = 10020;
    return 0;
}
