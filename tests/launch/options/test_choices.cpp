// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what people type, by hand from docs/compatibility.md, and the messages of 0.1 for what is no
// choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/options/option_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using tests::message_of;

template <class Enum>
void each_is_found_by_its_text() {
    for (const auto& [value, text] : Choices<Enum>::table) {
        EXPECT_EQ(to_string(value), text);
        EXPECT_EQ(choice_of<Enum>(text), value);
    }
    EXPECT_EQ(choice_of<Enum>(""), std::nullopt);
    EXPECT_EQ(choice_of<Enum>("AUTO"), std::nullopt);
}

TEST(Choices, AreFoundByTheirTexts) {
    each_is_found_by_its_text<RunMode>();
    each_is_found_by_its_text<ProgramBackend>();
    each_is_found_by_its_text<VisibleGpus>();
    each_is_found_by_its_text<OnHang>();
    each_is_found_by_its_text<Binding>();
    each_is_found_by_its_text<PlanForm>();
    each_is_found_by_its_text<Device::Kind>();
}

TEST(Choices, HaveTheTextsThatPeopleType) {
    EXPECT_THAT(choice_texts<RunMode>(), ElementsAre("collective", "ps", "ps-heter", "rpc"));
    EXPECT_THAT(choice_texts<ProgramBackend>(), ElementsAre("auto", "nccl", "gloo"));
    EXPECT_THAT(choice_texts<VisibleGpus>(), ElementsAre("narrow", "keep"));
    EXPECT_THAT(choice_texts<Binding>(), ElementsAre("auto", "none"));
    EXPECT_THAT(choice_texts<PlanForm>(), ElementsAre("table", "json"));
    EXPECT_THAT(choice_texts<Device::Kind>(), ElementsAre("cpu", "gpu"));
}

std::string refusal(std::string_view option, const std::string& text) {
    Options options;
    return message_of([&] { assign(options, *find_option(option), text, "--" + std::string(option)); });
}

TEST(Choices, AreNamedToWhoTypesAnotherOne) {
    EXPECT_EQ(refusal("run_mode", "PS"),
              "--run_mode PS: it must be one of collective, ps, ps-heter, rpc; see dtrain-launch --help");
    EXPECT_EQ(refusal("backend", "mpi"),
              "--backend mpi: it must be one of auto, nccl, gloo; see dtrain-launch --help");
    EXPECT_EQ(refusal("visible", ""),
              "--visible \"\": it must be one of narrow, keep; see dtrain-launch --help");
    EXPECT_EQ(refusal("bind", "core"), "--bind core: it must be one of auto, none; see dtrain-launch --help");
    EXPECT_EQ(refusal("dry-run", "xml"),
              "--dry-run xml: it must be one of table, json; see dtrain-launch --help");
    EXPECT_EQ(refusal("server_device", "xpu"),
              "--server_device xpu: it must be one of cpu, gpu; see dtrain-launch --help");
}

}  // namespace
}  // namespace dtrain::launch
