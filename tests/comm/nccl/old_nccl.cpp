// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// A library with NCCL's name that says that it is NCCL 2.18.5, compiled for CUDA 12.2, and can do nothing
// else.
extern "C" {
int ncclGetVersion(int* version) {
    *version = 21805;
    return 0;
}
const char* old_nccl_of_its_log() {
    return "NCCL version 2.18.5+cuda12.2";
}
}
