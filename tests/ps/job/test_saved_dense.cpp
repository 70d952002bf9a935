// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a variable of four elements, of which the files of two servers have two each.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/checkpoint.hpp>
#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>

#include "ps/job/saved_dense.hpp"
#include "ps/job/server_manifest.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class DenseOfServers : public testing::Test {
  protected:
    /// A server's entry of the manifest, and its file.
    json saved(const std::string& file, std::int64_t first, std::vector<float> values) {
        Checkpoint checkpoint;
        checkpoint.parameters["w.block"] = {{std::ssize(values)}, std::move(values)};
        save_checkpoint(folder_ / file, checkpoint);
        const json block{{"name", "w.block"}, {"parameter", true}, {"variable", "w"}, {"first", first}};
        return {
            {"dense", {{"file", file}, {"xxh3", sum_of(folder_ / file)}, {"tensors", json::array({block})}}}};
    }

    std::vector<float> filled_from(const std::vector<json>& servers) {
        Program program;
        program.add({.name = "w", .shape = {4}, .role = Role::parameter});
        const State state(program, 1);
        SavedDense(folder_.path(), servers).fill(program, state);
        const auto values = state.find("w")->view.as<float>();
        return {values.begin(), values.end()};
    }

    tests::TemporaryFolder folder_;
};

TEST_F(DenseOfServers, AreOneVariable) {
    const auto first = saved("a.h5", 0, {1, 2});
    const auto second = saved("b.h5", 2, {3, 4});
    EXPECT_THAT(filled_from({first, second}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(filled_from({second, first}), ElementsAre(1, 2, 3, 4));
}

TEST_F(DenseOfServers, AreAllThere) {
    const auto refusal = [&](const std::vector<json>& servers) {
        return message_of([&] { filled_from(servers); });
    };
    EXPECT_THAT(refusal({saved("a.h5", 0, {1, 2})}),
                HasSubstr("it has 2 of the 4 elements of 'w' that this job's model needs"));
    EXPECT_THAT(refusal({saved("a.h5", 1, {1, 2, 3})}), HasSubstr("it has 3 of the 4 elements"));
    EXPECT_THAT(refusal({}), HasSubstr("it has 0 of the 4 elements"));
}

TEST_F(DenseOfServers, BeginWithAnElement) {
    EXPECT_THAT(message_of([&] {
                    filled_from({saved("a.h5", -1, {1, 2})});
                }),
                HasSubstr("'w.block' cannot begin with element -1"));
}

}  // namespace
}  // namespace dtrain::ps
