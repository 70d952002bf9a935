// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written comes back; files as torch 2.x writes them (error_handler.py: json.dump of the
// dict in record_exception, and the form with a plain text that ProcessFailure reads), copied by hand.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/rank_error.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t plenty = 100'000;

RankError timeout() {
    return {
        .kind = "dtrain::CommunicatorTimeout",
        .message = "allreduce number 7 waited 3.0 s for rank 1 (did not answer)",
        .operation = RankError::Operation{"allreduce", 7, 3.25, {{1, "did not answer"}, {5, "in \"none\""}}},
        .rank = 3,
        .host = "node7",
        .pid = 4711,
        .time_us = 1'700'000'000'123'456};
}

RankError of_server() {
    return {.kind = "dtrain::ps::ServerError",
            .message = "parameter server 1: Größe",
            .for_all = true,
            .server = 1};
}

TEST(RankError, ComesBackFromJson) {
    for (const auto& error : {timeout(), of_server(), RankError{}})
        EXPECT_EQ(parse_rank_error(to_json(error, plenty)), error);
}

TEST(RankError, ComesBackFromAFile) {
    for (const auto& error : {timeout(), of_server(), RankError{}})
        EXPECT_EQ(parse_error_file(error_file_text(error)), error);
}

TEST(RankError, NamesTypeAndMessageOfAnException) {
    EXPECT_EQ(error_of(UsageError("no such file")),
              (RankError{.kind = "dtrain::UsageError", .message = "no such file"}));
    EXPECT_EQ(error_of(std::runtime_error("no loss")).kind, "std::runtime_error");
}

TEST(RankError, IsShortenedToTheSpaceThatThereIs) {
    auto error = timeout();
    error.message = "begin " + std::string(5000, 'x') + " end";
    error.operation->missing.assign(8, {1, std::string(500, 'y')});
    for (const std::size_t max : {1400U, 1000U, 700U}) {
        const auto json = to_json(error, max);
        EXPECT_LE(json.size(), max);
        const auto read = parse_rank_error(json);
        ASSERT_TRUE(read) << json;
        EXPECT_THAT(read->message, AllOf(StartsWith("begin "), EndsWith(" end")));
        EXPECT_EQ(read->operation->number, 7U);
        EXPECT_EQ(read->operation->missing.size(), 8U);
    }
    EXPECT_EQ(to_json(error, 50), "");
}

TEST(RankError, IsAsciiOnOneLineWhateverItsMessageIs) {
    auto error = of_server();
    error.message = "Größe\n\xff\x1b[31m";
    const auto json = to_json(error, plenty);
    for (const char letter : json) EXPECT_TRUE(letter >= ' ' && letter <= '~') << json;
    ASSERT_TRUE(parse_rank_error(json));
    EXPECT_EQ(parse_rank_error(json)->message.find('\n'), std::string::npos);
}

TEST(RankError, OtherTextsAreNone) {
    const auto good = nlohmann::json::parse(to_json(timeout(), plenty));
    ASSERT_TRUE(parse_rank_error(good.dump()));
    for (const char* text : {"", "{}", "[]", "null", "7", "{\"kind\":", "\xff"})
        EXPECT_EQ(parse_rank_error(text), std::nullopt) << text;
    const auto with = [&](const char* pointer, const nlohmann::json& value) {
        auto changed = good;
        changed[nlohmann::json::json_pointer(pointer)] = value;
        return parse_rank_error(changed.dump());
    };
    EXPECT_EQ(with("/rank", "0"), std::nullopt);
    EXPECT_EQ(with("/rank", 1.5), std::nullopt);
    EXPECT_EQ(with("/rank", 1e12), std::nullopt);
    EXPECT_EQ(with("/pid", 5'000'000'000), std::nullopt);
    EXPECT_EQ(with("/message", 7), std::nullopt);
    EXPECT_EQ(with("/source", "paddle"), std::nullopt);
    EXPECT_EQ(with("/for_all", 1), std::nullopt);
    EXPECT_EQ(with("/operation/number", -1), std::nullopt);
    EXPECT_EQ(with("/operation/missing/0/rank", nullptr), std::nullopt);
    EXPECT_EQ(with("/operation", "allreduce"), std::nullopt);
    EXPECT_EQ(parse_rank_error(std::string(100'000, '[')), std::nullopt);
}

TEST(RankError, MoreRanksThanAreNamedAreLeftOut) {
    auto error = timeout();
    error.operation->missing.assign(100, {1, "away"});
    const auto read = parse_rank_error(to_json(error, plenty));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->operation->missing.size(), max_named_peers);
}

TEST(ErrorFile, HasWhatTorchsAgentReads) {
    const auto file = nlohmann::json::parse(error_file_text(timeout()));
    EXPECT_EQ(file["message"]["message"], "allreduce number 7 waited 3.0 s for rank 1 (did not answer)");
    EXPECT_EQ(file["message"]["extraInfo"]["timestamp"], "1700000000");
    EXPECT_EQ(file["message"]["extraInfo"]["py_callstack"], "");
}

TEST(ErrorFile, OfTorchsRecord) {
    const auto error = parse_error_file(
        R"({"message": {"message": "ValueError: my own words", "extraInfo": {"py_callstack": )"
        R"("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: my own words\n", )"
        R"("timestamp": "1700000000"}}})");
    EXPECT_EQ(error, (RankError{.source = RankError::Source::torch,
                                .message = "ValueError: my own words",
                                .time_us = 1'700'000'000'000'000}));
    ASSERT_TRUE(error);
    EXPECT_EQ(parse_rank_error(to_json(*error, plenty)), error);
}

TEST(ErrorFile, OfTorchAsAPlainText) {
    EXPECT_EQ(
        parse_error_file(R"({"message": "went wrong", "timestamp": 1700000001})"),
        (RankError{
            .source = RankError::Source::torch, .message = "went wrong", .time_us = 1'700'000'001'000'000}));
    EXPECT_EQ(parse_error_file(R"({"message": "went wrong"})"),
              (RankError{.source = RankError::Source::torch, .message = "went wrong"}));
}

TEST(ErrorFile, PythonsLinesStayLines) {
    const std::string lines = "RuntimeError: CUDA error\nCompile with TORCH_USE_CUDA_DSA";
    const auto error = parse_error_file(
        nlohmann::json{{"message", {{"message", lines}, {"extraInfo", nlohmann::json::object()}}}}.dump());
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, lines);
    EXPECT_EQ(parse_rank_error(to_json(*error, plenty))->message, lines);
}

TEST(ErrorFile, ATornOrForeignOneIsNone) {
    const auto whole = error_file_text(timeout());
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 2})
        EXPECT_EQ(parse_error_file(whole.substr(0, bytes)), std::nullopt) << bytes;
    for (const char* text :
         {"{}", "[]", "{\"message\": 7}", "{\"message\": {}}", "{\"message\": \"x\", \"dtrain\": 7}"})
        EXPECT_EQ(parse_error_file(text), std::nullopt) << text;
}

}  // namespace
}  // namespace dtrain
