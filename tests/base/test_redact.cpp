// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: names of real variables and options (of AWS, W&B, Hugging Face, Postgres, torch and Paddle
// scripts), sorted by hand into those whose value somebody must not read and those whose value somebody looks
// for.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/redact.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

TEST(NamesSecret, Secrets) {
    for (const char* name : {"WANDB_API_KEY",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_ACCESS_KEY_ID",
                             "AWS_SESSION_TOKEN",
                             "HF_TOKEN",
                             "GITHUB_TOKEN",
                             "OPENAI_API_KEY",
                             "PGPASSWORD",
                             "MYSQL_PWD",
                             "DB_PASS",
                             "DB_PASSWORD_1",
                             "API_KEY2",
                             "GOOGLE_APPLICATION_CREDENTIALS",
                             "CLIENT_SECRET",
                             "SECRET_KEY_BASE",
                             "DTRAIN_JOB_TOKEN",
                             "--api_key",
                             "--api-key",
                             "--apikey",
                             "--apiKey",
                             "--APIKey",
                             "--token",
                             "--hub_token",
                             "--key",
                             "--password",
                             "--db.passwd",
                             "--pwd",
                             "--secret",
                             "--credentials",
                             "wandb.api_key",
                             "authToken",
                             "Authorization",
                             "--private_key"})
        EXPECT_TRUE(names_secret(name)) << name;
}

TEST(NamesSecret, OtherNames) {
    for (const char* name : {"--tokenizer",
                             "--max_tokens",
                             "--max_token",
                             "--num_keys",
                             "--key_frames",
                             "--key_dim",
                             "--keypoints",
                             "--token_type",
                             "--tokens_per_step",
                             "--pad_token",
                             "--eos-token",
                             "--sort_key",
                             "--image_key",
                             "--monitor_key",
                             "--public_key",
                             "--use_auth_token",
                             "--num_passes",
                             "--backward_pass",
                             "--pass_num",
                             "--secret_name",
                             "--password_file",
                             "--author",
                             "MONKEY",
                             "PWD",
                             "OLDPWD",
                             "SSH_AUTH_SOCK",
                             "KEYBOARD",
                             "XAUTHORITY",
                             "KeyError",
                             "compass",
                             "BYPASS",
                             "",
                             "--",
                             "7",
                             "--batch_size",
                             "TOKENIZERS_PARALLELISM"})
        EXPECT_FALSE(names_secret(name)) << name;
}

TEST(RedactedArguments, HideValuesOnly) {
    EXPECT_THAT(redacted_arguments({"--api_key=abc", "--lr", "0.1", "--token", "abc", "data"}),
                ElementsAre("--api_key=***", "--lr", "0.1", "--token", "***", "data"));
    EXPECT_THAT(redacted_arguments({"--password=two words = one", "WANDB_API_KEY=abc", "+wandb.api_key=abc"}),
                ElementsAre("--password=***", "WANDB_API_KEY=***", "+wandb.api_key=***"));
    EXPECT_THAT(redacted_arguments({"--env=HF_TOKEN=abc", "{\"password\": \"abc\", \"lr\": 0.1}"}),
                ElementsAre("--env=HF_TOKEN=***", "{\"password\": \"***\", \"lr\": 0.1}"));
}

TEST(RedactedArguments, LeaveEverythingElseAsItWas) {
    const Arguments innocent{"--tokenizer",
                             "bert",
                             "--max_tokens=5",
                             "--key_frames",
                             "3",
                             "train.py",
                             "--token_type=",
                             "--lr=1",
                             "--use_auth_token",
                             "data",
                             "a=b=c",
                             "",
                             "--eos_token",
                             "</s>",
                             "s3://bucket/key",
                             "git@host:x",
                             "ssh://git@host/x"};
    EXPECT_EQ(redacted_arguments(innocent), innocent);
}

TEST(RedactedArguments, AnOptionMayHaveNoValue) {
    EXPECT_THAT(redacted_arguments({"--token", "--lr", "0.1", "--secret"}),
                ElementsAre("--token", "--lr", "0.1", "--secret"));
    EXPECT_THAT(redacted_arguments({"--token=", "--auth", "true", "--token", "None"}),
                ElementsAre("--token=", "--auth", "true", "--token", "None"));
}

TEST(RedactedArguments, PasswordsInUrls) {
    EXPECT_THAT(redacted_arguments({"--store=redis://me:abc@host:6379/0", "https://abc@host/x.git",
                                    "https://host/a?token=abc&page=2"}),
                ElementsAre("--store=redis://me:***@host:6379/0", "https://***@host/x.git",
                            "https://host/a?token=***&page=2"));
}

TEST(RedactedText, OfLogs) {
    const std::pair<const char*, const char*> cases[]{
        {"Namespace(api_key='abc', lr=0.1)\n", "Namespace(api_key='***', lr=0.1)\n"},
        {"{'HF_TOKEN': 'a b', 'HOME': '/root'}", "{'HF_TOKEN': '***', 'HOME': '/root'}"},
        {"cmd ['a.py', '--token', 'abc', '--lr', '1']", "cmd ['a.py', '--token', '***', '--lr', '1']"},
        {"run a.py --token abc --lr 1", "run a.py --token *** --lr 1"},
        {"password: abc\nuser: me", "password: ***\nuser: me"},
        {"Authorization: Bearer abc.def\nAccept: */*", "Authorization: Bearer ***\nAccept: */*"},
        {"{\\\"api_key\\\": \\\"abc\\\", \\\"b\\\": 1}", "{\\\"api_key\\\": \\\"***\\\", \\\"b\\\": 1}"},
        {"amqp://me:abc@host refused", "amqp://me:***@host refused"},
        {"export WANDB_API_KEY=abc", "export WANDB_API_KEY=***"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(redacted_text(text), expected);
}

TEST(RedactedText, OrdinaryWordsStay) {
    for (const char* text :
         {"KeyError: 'conv1.weight'", "SyntaxError: Unexpected token: <", "    key = self.keys[index]",
          "    rows = sorted(rows, key=lambda row: row[0])", "missing key: fc.bias", "{\"key\": \"conv1\"}",
          "tokens: 4096", "the token is bad", "if password == given:", "a://b", "12:30:01 a@b", "secret",
          "key", "--token", "run a.py --token --lr 1",
          "password=", "tokens/s: 99, tokenizer=bert, max_tokens=5", ""})
        EXPECT_EQ(redacted_text(text), text);
}

/// A text of pieces that mean something to the search for secrets.
std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> pieces{"token",  "key",   "api_key", "--password", "Authorization",
                                                 "Bearer", "basic", "=",       ":",          "==",
                                                 "://",    "http",  "@",       "\"",         "'",
                                                 "\\",     " ",     "\n",      ",",          "&",
                                                 "-",      "x",     "42",      "\xff",       "{",
                                                 "}",      "\r",    "\t",      "--",         "?",
                                                 "none",   "//",    "***",     ".",          "_",
                                                 ""};
    std::string text;
    for (auto length = random() % 24; length > 0; --length) text += pieces[random() % pieces.size()];
    return text;
}

TEST(RedactedText, OfRandomTexts) {
    std::mt19937 random(4);
    for (int i = 0; i < 100'000; ++i) {
        const auto text = random_text(random);
        const auto once = redacted_text(text);
        ASSERT_EQ(redacted_text(once), once) << text;
        const auto given = redacted_text(text + " api_key=s3cr3t " + random_text(random));
        ASSERT_THAT(given, Not(HasSubstr("s3cr3t"))) << text;
    }
}

TEST(KnownSecrets, AreHiddenWhereverTheyTurnUp) {
    const KnownSecrets secrets(
        Environment{{"WANDB_API_KEY", "0123456789abcdef"}, {"HOME", "/home/somebody"}},
        {"a.py", "--token", "hf_xyz123", "--password=hf_xyz123456", "--lr", "0.123456"});
    EXPECT_EQ(secrets.hidden_in("ValueError: hf_xyz123456 and <hf_xyz123>, lr 0.123456, /home/somebody"),
              "ValueError: *** and <***>, lr 0.123456, /home/somebody");
    EXPECT_EQ(secrets.hidden_in("401 for 0123456789abcdef; api_key=other"), "401 for ***; api_key=***");
}

TEST(KnownSecrets, ShortOnesAndSwitchesWouldHideOrdinaryText) {
    const KnownSecrets secrets(Environment{{"A_TOKEN", "abc"}, {"B_TOKEN", "false"}, {"C_TOKEN", ""}}, {});
    EXPECT_EQ(secrets.hidden_in("abc false"), "abc false");
    EXPECT_EQ(KnownSecrets().hidden_in("abc"), "abc");
}

}  // namespace
}  // namespace dtrain
