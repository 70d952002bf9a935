// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: RFC 9112 (requests, status lines) and RFC 9110 (405 names what is allowed; the answer to HEAD is
// that to GET without its body), and Prometheus' type of its text format.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scrape/http.hpp"

namespace dtrain::scrape {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::optional<std::string> answer(const std::string& received) {
    return answer_to(received, [] { return std::string("a 1\nb 2\n"); });
}

TEST(Http, AnswersWithTheMetrics) {
    const auto* expected =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        "Content-Length: 8\r\nConnection: close\r\n\r\na 1\nb 2\n";
    EXPECT_EQ(answer("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"), expected);
    EXPECT_EQ(answer("GET /metrics?x=/y HTTP/1.0\r\n\r\n"), expected);
    EXPECT_EQ(answer("GET /metrics HTTP/1.1\n\n"), expected) << "as a person types it";
}

TEST(Http, WaitsForTheEndOfTheHead) {
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    for (std::size_t size = 0; size < request.size(); ++size)
        EXPECT_EQ(answer(request.substr(0, size)), std::nullopt) << size;
}

TEST(Http, AsksForTheTextOnlyWhereItIsWanted) {
    const auto never = []() -> std::string { throw std::logic_error("asked"); };
    EXPECT_THAT(answer_to("GET / HTTP/1.1\r\n\r\n", never).value(), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(answer_to("GET /metrics2 HTTP/1.1\r\n\r\n", never).value(), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(answer_to("GET /../metrics HTTP/1.1\r\n\r\n", never).value(), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(answer_to("POST /metrics HTTP/1.1\r\n\r\n", never).value(),
                testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
}

TEST(Http, HeadIsGetWithoutTheBody) {
    const auto got = answer("GET /metrics HTTP/1.1\r\n\r\n").value();
    EXPECT_EQ(answer("HEAD /metrics HTTP/1.1\r\n\r\n"), got.substr(0, got.size() - 8));
    EXPECT_THAT(answer("HEAD / HTTP/1.1\r\n\r\n").value(), EndsWith("\r\n\r\n"));
}

TEST(Http, RefusesWhatIsNoRequest) {
    for (const auto* request :
         {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", " /metrics HTTP/1.1\r\n\r\n",
          "GET /metrics HTTP/2\r\n\r\n", "GET HTTP/1.1\r\n\r\n", "\x16\x03\x01\n\n"})
        EXPECT_THAT(answer(request).value(), StartsWith("HTTP/1.1 400 ")) << request;
    EXPECT_EQ(answer(std::string(max_request - 1, 'a')), std::nullopt);
    EXPECT_THAT(answer(std::string(max_request, 'a')).value(), StartsWith("HTTP/1.1 431 "));
}

TEST(Http, TellsWhyThereIsNoText) {
    const auto response = answer_to("GET /metrics HTTP/1.1\r\n\r\n",
                                    []() -> std::string { throw std::runtime_error("no memory"); });
    EXPECT_THAT(response.value(),
                testing::AllOf(StartsWith("HTTP/1.1 500 "), EndsWith("\r\n\r\nno memory\n")));
}

}  // namespace
}  // namespace dtrain::scrape
