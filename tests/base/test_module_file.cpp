// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: glibc's own library, which has known functions; files that are not there or no libraries.
#include <cstdlib>
#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/module_file.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

constexpr const char* variable = "DTRAIN_TEST_MODULE";

class OpenModule : public testing::Test {
  protected:
    ~OpenModule() override { ::unsetenv(variable); }

    static void expect_refused(const ModuleFile& module, ModuleError::Kind kind, const std::string& file) {
        try {
            open_module(module, RTLD_NOW);
            FAIL() << "it was opened";
        } catch (const ModuleError& error) {
            EXPECT_EQ(error.kind(), kind) << error.what();
            EXPECT_EQ(error.file(), file);
            EXPECT_THAT(error.what(), HasSubstr(file));
        }
    }
};

TEST_F(OpenModule, GivesTheEntry) {
    const ModuleFile module{"libc.so.6", variable, "abs"};
    ::unsetenv(variable);
    const auto absolute = reinterpret_cast<int (*)(int)>(open_module(module, RTLD_NOW));
    EXPECT_EQ(absolute(-3), 3);
    ::setenv(variable, "", 1);
    EXPECT_EQ(open_module(module, RTLD_LAZY), reinterpret_cast<void*>(absolute));
}

TEST_F(OpenModule, TheVariableNamesAnotherFile) {
    ::setenv(variable, "libc.so.6", 1);
    EXPECT_NE(open_module({"/nowhere.so", variable, "abs"}, RTLD_NOW), nullptr);
}

TEST_F(OpenModule, SaysWhatIsWrong) {
    ::unsetenv(variable);
    const tests::TemporaryFolder folder;
    const auto text = (folder.path() / "text.so").string();
    replace_file(text, "no library");
    expect_refused({"/nowhere.so", variable, "abs"}, ModuleError::Kind::absent, "/nowhere.so");
    expect_refused({text.c_str(), variable, "abs"}, ModuleError::Kind::unloadable, text);
    expect_refused({"libc.so.6", variable, "no_such_function"}, ModuleError::Kind::foreign, "libc.so.6");
}

}  // namespace
}  // namespace dtrain
