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

// RFC 3986 wants such letters escaped in a password; SQLAlchemy's and other URLs have them as they are.
TEST(RedactedText, PasswordsInUrlsWithLettersThatOughtToBeEscaped) {
    const std::pair<const char*, const char*> cases[]{
        {"postgresql://me:pa/ss@db.example.org/x", "postgresql://me:***@db.example.org/x"},
        {"postgresql://me:pa#ss@db", "postgresql://me:***@db"},
        {"redis://:pa?ss/w#rd@host:6379/0", "redis://:***@host:6379/0"},
        {"mysql://me:/@db", "mysql://me:***@db"},
        {"x 'https://me:12ab/c@host/a' y@z", "x 'https://me:***@host/a' y@z"},
        {"amqp://me:a@b@host/x", "amqp://me:***@host/x"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(redacted_text(text), expected);
    for (const char* text : {"http://host:8080/@someone", "http://host:8080/a?mail=a@b",
                             "http://[::1]:8080/a@b", "s3://a/b@c", "https://example.org/@someone",
                             "https://host:8080 me@host", "file:///a:b/c@d", "see http://host: a@b"})
        EXPECT_EQ(redacted_text(text), text);
}

TEST(RedactedText, SignedUrls) {
    EXPECT_EQ(redacted_text("https://a.blob.core.windows.net/c?sv=2022&sig=ab%2Bc%3D&se=2026"),
              "https://a.blob.core.windows.net/c?sv=2022&sig=***&se=2026");
    EXPECT_EQ(
        redacted_text("GET /b/k?X-Amz-Credential=AKIA/2026&X-Amz-Expires=60&X-Amz-Signature=0a1b HTTP/1.1"),
        "GET /b/k?X-Amz-Credential=***&X-Amz-Expires=60&X-Amz-Signature=*** HTTP/1.1");
    EXPECT_EQ(redacted_text("https://d.cloudfront.net/x?Expires=1&Signature=ab-c_~&Key-Pair-Id=K1"),
              "https://d.cloudfront.net/x?Expires=1&Signature=***&Key-Pair-Id=K1");
    EXPECT_EQ(redacted_text("x?X-Goog-Signature=0a1b"), "x?X-Goog-Signature=***");
    EXPECT_EQ(redacted_text("SharedAccessSignature=sv=1&sig=abc"), "SharedAccessSignature=***&sig=***");
    for (const char* text :
         {"signature = inspect.signature(f)", "input_signature=[TensorSpec]", "sig=3", "f(sig=x)"})
        EXPECT_EQ(redacted_text(text), text);
    EXPECT_TRUE(names_secret("X-Amz-Signature"));
    EXPECT_FALSE(names_secret("signature"));
}

TEST(RedactedText, PrivateKeys) {
    const std::string begin = "-----BEGIN RSA PRIVATE KEY-----";
    const std::string end = "-----END RSA PRIVATE KEY-----";
    const std::string lines = "\nMIIEpAIBAAKCAQEAx3\nabcdefghijklmnop+/==\n";
    EXPECT_EQ(redacted_text("a\n" + begin + lines + end + "\nb"), "a\n" + begin + "***" + end + "\nb");
    EXPECT_EQ(redacted_text("a\n" + begin + lines), "a\n" + begin + "***") << "cut off";
    EXPECT_EQ(redacted_text("a b\nMIIEpAIBAAKCAQEAx3\nabcd==\n" + end), "a b\n***\n" + end) << "begins later";
    EXPECT_EQ(
        redacted_text(R"({"private_key": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"})"),
        R"({"private_key": "***\n"})");
    EXPECT_EQ(redacted_text(
                  R"('k': '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----')"),
              R"('k': '-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----')");
    EXPECT_EQ(redacted_value("A", begin + lines + end), begin + "***" + end);
    EXPECT_EQ(redacted_text(begin + "-----x"), begin + "***");
    for (const std::string& text :
         {std::string("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"),
          std::string("----- 3 -----"), std::string("-----BEGIN a\nPRIVATE KEY-----"),
          std::string("-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----")})
        EXPECT_EQ(redacted_text(text), text);
}

TEST(RedactedText, TokensThatServicesGiveOut) {
    const std::string forty = "0123456789abcdefghijABCDEFGHIJ0123456789";
    for (const std::string& token :
         {"ghp_" + forty.substr(0, 36), "gho_" + forty.substr(0, 36), "github_pat_11ABC_" + forty,
          "hf_" + forty.substr(0, 34), "sk-" + forty, "sk-proj-" + forty, "sk-ant-api03-" + forty,
          std::string("AKIAIOSFODNN7EXAMPLE"), std::string("ASIAIOSFODNN7EXAMPLE"),
          "glpat-" + forty.substr(0, 20), "AIza" + forty.substr(0, 35), std::string("xoxb-123456789012-abc"),
          std::string("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlX3g")}) {
        EXPECT_EQ(redacted_text("401 for " + token + "."), "401 for ***.") << token;
        EXPECT_EQ(redacted_text("['" + token + "', x=" + token + "]"), "['***', x=***]") << token;
        EXPECT_THAT(redacted_arguments({"a.py", token}), ElementsAre("a.py", "***")) << token;
        EXPECT_EQ(redacted_value("ANY", token), "***") << token;
    }
    for (const char* text : {"sk-learn-contrib-examples-and-more", "hf_transformers_model_of_2024",
                             "ghp_short", "AKIA", "AKIAiosfodnn7", "task-0123456789abcdefghijABCDEF",
                             "eyJ.eyJ.x", "eyJhbGciOiJIUzI1NiJ9 alone", "npm_config_cache"})
        EXPECT_EQ(redacted_text(text), text);
}

TEST(RedactedText, LoginsOfCurl) {
    const std::pair<const char*, const char*> cases[]{
        {"curl -u me:s3cret https://host", "curl -u me:*** https://host"},
        {"curl -sume:s3cret,x x", "curl -sume:*** x"},
        {"curl -su me:s3cret x", "curl -su me:*** x"},
        {"/usr/bin/curl --user me:s3:cret x", "/usr/bin/curl --user me:*** x"},
        {"curl --user=me:s3cret x", "curl --user=me:*** x"},
        {"curl -U 'me:s3 cret' x", "curl -U 'me:***' x"},
        {"['curl', '-u', 'me:s3,cret', 'x']", "['curl', '-u', 'me:***', 'x']"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(redacted_text(text), expected);
    for (const char* text :
         {"curl -u me x", "sort -u a:b", "curl x\nid -u a:b", "curly -u a:b", "curl -u me: x"})
        EXPECT_EQ(redacted_text(text), text);
    EXPECT_THAT(
        redacted_arguments({"/usr/bin/curl", "-u", "me:s3 cret", "-sume:s3cret", "--user=me:s3cret", "x:y"}),
        ElementsAre("/usr/bin/curl", "-u", "me:***", "-sume:***", "--user=me:***", "x:y"));
    EXPECT_THAT(redacted_arguments({"docker", "-u", "me:group"}), ElementsAre("docker", "-u", "me:group"));
    EXPECT_EQ(KnownSecrets({}, {"curl", "-u", "me:s3cret"}).hidden_in("401: s3cret"), "401: ***");
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
    static const std::vector<std::string> pieces{"token",
                                                 "key",
                                                 "api_key",
                                                 "--password",
                                                 "Authorization",
                                                 "Bearer",
                                                 "basic",
                                                 "=",
                                                 ":",
                                                 "==",
                                                 "://",
                                                 "http",
                                                 "@",
                                                 "\"",
                                                 "'",
                                                 "\\",
                                                 " ",
                                                 "\n",
                                                 ",",
                                                 "&",
                                                 "-",
                                                 "x",
                                                 "42",
                                                 "\xff",
                                                 "{",
                                                 "}",
                                                 "\r",
                                                 "\t",
                                                 "--",
                                                 "?",
                                                 "none",
                                                 "//",
                                                 "***",
                                                 ".",
                                                 "_",
                                                 "curl ",
                                                 "-u ",
                                                 "--user",
                                                 "sig",
                                                 "?",
                                                 "#",
                                                 "/",
                                                 "AKIAIOSFODNN7EXAMPLE",
                                                 "\\n",
                                                 "-----BEGIN PRIVATE KEY-----",
                                                 "-----END PRIVATE KEY-----",
                                                 "MIIEpAIBAAKCAQEAx3",
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
