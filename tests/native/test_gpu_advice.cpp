// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: lines that a fifo in the place of the kernel log brings while somebody listens.
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "native/gpu_advice.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::native {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* no_gpus = "";

class GpuAdviceTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
        kernel_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    }

    GpuAdvice::Report reporter() {
        return [this](const std::string& warning) {
            const std::lock_guard lock(mutex_);
            reported_.push_back(warning);
            is_reported_.notify_all();
        };
    }

    void log(const char* line) const { ASSERT_TRUE(write_all(kernel_.get(), line)); }

    std::vector<std::string> warnings(std::size_t count) {
        std::unique_lock lock(mutex_);
        is_reported_.wait_for(lock, std::chrono::seconds(30), [&] { return reported_.size() >= count; });
        return reported_;
    }

    const tests::TemporaryFolder folder_;
    const std::filesystem::path path_ = folder_ / "kmsg";
    FileDescriptor kernel_;

  private:
    std::mutex mutex_;
    std::condition_variable is_reported_;
    std::vector<std::string> reported_;
};

TEST_F(GpuAdviceTest, TellsAnErrorOfAGpuWhenTheKernelLogsIt) {
    const GpuAdvice advice(no_gpus, reporter(), path_);
    log("6,1,1,-;usb 1-1: new device\n6,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, gone\n");
    EXPECT_THAT(warnings(1), ElementsAre(StartsWith("the kernel logged Xid 79 of GPU 0000:3b:00: ")));
    log("6,3,3,-;NVRM: Xid (PCI:0000:5f:00): 31, fault\n");
    EXPECT_THAT(warnings(2), ElementsAre(StartsWith("the kernel logged Xid 79 of GPU 0000:3b:00: "),
                                         StartsWith("the kernel logged Xid 31 of GPU 0000:5f:00: ")));
}

TEST_F(GpuAdviceTest, EndsWithoutAWord) {
    { const GpuAdvice advice(no_gpus, reporter(), path_); }
    { const GpuAdvice advice(no_gpus, reporter(), folder_ / "none"); }
    EXPECT_THAT(warnings(0), IsEmpty());
}

}  // namespace
}  // namespace dtrain::native
