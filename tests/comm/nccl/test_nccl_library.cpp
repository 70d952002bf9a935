// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the text in old_nccl.cpp, in the form that NCCL has in its file init.cc; where CUDA is built in,
// that NCCL's own package is for the CUDA that is there.
#include <fstream>

#include <gtest/gtest.h>

#include "comm/nccl/nccl_bootstrap.hpp"
#include "comm/nccl/nccl_library.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::comm {
namespace {

TEST(CudaOfNccl, StandsInTheLibrary) {
    EXPECT_EQ(cuda_of_nccl(OLD_NCCL), "12.2");
}

TEST(CudaOfNccl, IsNotToldByOthers) {
    const tests::TemporaryFolder folder;
    std::ofstream(folder / "text") << "NCCL version 2.18.5+cuda12.2";
    std::ofstream(folder / "header") << "\x7f"
                                        "ELF\2\1\1";
    std::ifstream whole(OLD_NCCL, std::ios::binary);
    std::string start(64, '\0');
    whole.read(start.data(), static_cast<std::streamsize>(start.size()));
    std::ofstream(folder / "cut off", std::ios::binary) << start;
    for (const char* file : {"text", "header", "cut off", "none"})
        EXPECT_EQ(cuda_of_nccl(folder / file), "") << file;
    EXPECT_EQ(cuda_of_nccl("/bin/sh"), "");
}

}  // namespace
}  // namespace dtrain::comm
