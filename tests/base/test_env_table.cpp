// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the table itself for the page in docs/; for the table, the names of variables in the sources.
#include <filesystem>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/env_table.hpp"
#include "base/files.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// The names of environment variables in string literals: those with a prefix of somebody's contract ("NAME"
/// or "NAME=value"), and whatever an Environment or the C library is asked for by name.
std::set<std::string> variables_in(const std::string& source) {
    static const std::regex prefixed(
        R"re("((?:OMPI|PRTE|PMIX|PMI|MPI_LOCAL[A-Z]*|MPIR|HYDRA|HYDI|I_MPI|SLURM|PBS|PALS|LSB|COBALT|FLUX|PADDLE|DTRAIN|CUDA|NVIDIA|NCCL|UCX|FLAGS|MASTER|POD|TRAINER|DISTRIBUTED|OMP|OPENBLAS|MKL|HWLOC|GROUP|LOCAL|WORLD)_(?:[A-Za-z0-9]+_)*[A-Za-z0-9]*)(?:=[^"]*)?")re");
    static const std::regex queried(
        R"re(\b(?:get|get_or|get_int|has|set|unset|getenv|setenv|unsetenv|secure_getenv|contract_int)\(\s*(?:\w+,\s*)?"([A-Z][A-Z0-9_]*|\w+_proxy)")re");
    std::set<std::string> out;
    for (const auto* pattern : {&prefixed, &queried})
        for (std::sregex_iterator match(source.begin(), source.end(), *pattern), end; match != end; ++match)
            out.insert((*match)[1]);
    return out;
}

TEST(EnvTable, ScannerFindsNames) {
    EXPECT_THAT(variables_in(
                    R"(environment.get("PATH"); out.set("OMPI_MCA_x", a); f("SLURM_NEW"); g("DTRAIN_A=1");)"),
                UnorderedElementsAre("PATH", "OMPI_MCA_x", "SLURM_NEW", "DTRAIN_A"));
    EXPECT_THAT(variables_in("environment.get_int(\n    \"RANK\", 0); getenv( \"http_proxy\")"),
                UnorderedElementsAre("RANK", "http_proxy"));
    EXPECT_THAT(variables_in(R"(contract_int(environment, "PMI_SIZE", witness))"), ElementsAre("PMI_SIZE"));
    EXPECT_THAT(
        variables_in(R"(throw Error("SLURM_X={} is wrong"); call("MPI_Allreduce"); log("Open MPI");)"),
        ElementsAre("SLURM_X"));
    EXPECT_THAT(variables_in("text == \"RANK\" || \"SLURM_\"s"), ElementsAre("SLURM_"));
}

/// Sources that name variables without using them.
bool is_a_table(const fs::path& file) {
    return file.filename() == "env_table.cpp" || file.filename() == "compatibility.cpp";
}

TEST(EnvTable, HasEveryVariableOfTheSources) {
    std::set<std::string> missing;
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(DTRAIN_SOURCE_ROOT "/src")) {
        const auto extension = entry.path().extension();
        if ((extension != ".cpp" && extension != ".hpp") || is_a_table(entry.path())) continue;
        for (const auto& name : variables_in(read_file(entry.path()).value())) {
            found.insert(name);
            if (find_env_variable(name) == nullptr)
                missing.insert(name + " in " + fs::relative(entry.path(), DTRAIN_SOURCE_ROOT).string());
        }
    }
    EXPECT_THAT(missing, IsEmpty()) << "add them to src/base/env_table.cpp, then: ninja update-docs";
    // The scan itself works: names that the oldest room is bound to read.
    EXPECT_TRUE(found.contains("SLURM_PROCID"));
    EXPECT_TRUE(found.contains("PADDLE_TRAINER_ENDPOINTS"));
}

TEST(EnvTable, RowsAreWellFormed) {
    std::set<std::string_view> names;
    std::set<EnvGroup> closed;
    const EnvVariable* before = nullptr;
    for (const auto& entry : env_table()) {
        SCOPED_TRACE(entry.name);
        EXPECT_TRUE(names.insert(entry.name).second) << "twice";
        EXPECT_FALSE(entry.otherwise.empty());
        EXPECT_EQ(entry.meaning.back(), '.');
        EXPECT_EQ(entry.meaning.find('|'), std::string_view::npos);
        EXPECT_EQ(find_env_variable(entry.name), &entry);
        // Groups stand together.
        const bool new_group = before != nullptr && before->group != entry.group;
        EXPECT_TRUE(!new_group || closed.insert(before->group).second);
        EXPECT_FALSE(closed.contains(entry.group));
        EXPECT_FALSE(title_of(entry.group).empty());
        EXPECT_EQ(entry.name.starts_with("DTRAIN_"), entry.group == EnvGroup::dtrain);
        before = &entry;
    }
    EXPECT_EQ(find_env_variable("NO_SUCH_VARIABLE"), nullptr);
}

TEST(EnvTable, PageInDocsIsTheTable) {
    const auto page = read_file(DTRAIN_SOURCE_ROOT "/docs/environment.md");
    ASSERT_TRUE(page) << "docs/environment.md cannot be read; run: ninja update-docs";
    EXPECT_EQ(*page, env_table_markdown()) << "docs/environment.md is out of date; run: ninja update-docs";
}

}  // namespace
}  // namespace dtrain
