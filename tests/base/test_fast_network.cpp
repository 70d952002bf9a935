// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: by hand; where Linux and drivers put their devices.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/fast_network.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class FastNetwork : public testing::Test {
  protected:
    void add_folder(const fs::path& folder) { fs::create_directories(root_.path() / folder); }
    void add_file(const fs::path& file) {
        add_folder(file.parent_path());
        std::ofstream{root_.path() / file};
    }
    void remove(const fs::path& entry) { fs::remove_all(root_.path() / entry); }
    bool may_be_there() const { return may_have_fast_network(root_.path()); }

  private:
    tests::TemporaryFolder root_;
};

TEST_F(FastNetwork, IsNoneOfTheKernelsInterfaces) {
    add_folder("sys/class/net/eth0");
    add_folder("sys/class/infiniband");
    EXPECT_FALSE(may_be_there());
}

TEST_F(FastNetwork, IsAnAdapterOfAnyKind) {
    add_folder("sys/class/net/eth0");
    ASSERT_FALSE(may_be_there());
    for (const char* adapter :
         {"sys/class/infiniband/mlx5_0", "sys/class/cxi/cxi0", "sys/class/hfi1/hfi1_0"}) {
        add_folder(adapter);
        EXPECT_TRUE(may_be_there()) << adapter;
        remove(adapter);
        ASSERT_FALSE(may_be_there());
    }
}

TEST_F(FastNetwork, IsADeviceFile) {
    add_folder("sys/class/net/eth0");
    ASSERT_FALSE(may_be_there());
    add_file("dev/kgni0");
    EXPECT_TRUE(may_be_there());
}

TEST_F(FastNetwork, MayBeThereWhereSysfsIsNot) {
    EXPECT_TRUE(may_be_there());
    add_folder("sys/class/net");
    EXPECT_TRUE(may_be_there());
}

TEST(MtlSelection, IsNoneWithoutAFastNetwork) {
    EXPECT_EQ(mtl_selection({}, false), "^ofi,psm,psm2,portals4");
    EXPECT_EQ(mtl_selection({{"OMPI_MCA_btl", "tcp,self"}}, false), "^ofi,psm,psm2,portals4");
}

TEST(MtlSelection, IsOpenMpisWithAFastNetwork) {
    EXPECT_EQ(mtl_selection({}, true), std::nullopt);
}

TEST(MtlSelection, IsTheUsers) {
    for (const char* name : {"OMPI_MCA_mtl", "OMPI_MCA_mtl_ofi_provider_include", "OMPI_MCA_pml"})
        EXPECT_EQ(mtl_selection({{name, "x"}}, false), std::nullopt) << name;
}

}  // namespace
}  // namespace dtrain
