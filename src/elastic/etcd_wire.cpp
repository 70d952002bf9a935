// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/etcd_wire.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "elastic/base64.hpp"

namespace dtrain::elastic {
namespace {

using Json = nlohmann::json;

/// @throws NotEtcd if `text` is not one JSON object. For a stream, returns the object in its "result".
Json read_object(std::string_view text) {
    auto read = Json::parse(text, nullptr, false);
    if (!read.is_object()) throw NotEtcd(text);
    if (const auto result = read.find("result"); result != read.end() && result->is_object()) return *result;
    return read;
}

std::int64_t number_in(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) return 0;
    if (found->is_number_integer()) return found->get<std::int64_t>();
    if (found->is_string())
        if (const auto number = parse_int<std::int64_t>(found->get_ref<const std::string&>())) return *number;
    throw NotEtcd(object.dump());
}

std::string bytes_in(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) return "";
    if (found->is_string())
        if (auto bytes = from_base64(found->get_ref<const std::string&>())) return *bytes;
    throw NotEtcd(object.dump());
}

Json put_object(const Change& put) {
    Json out{{"key", to_base64(put.key)}, {"value", to_base64(put.value.value())}};
    if (put.lease != 0) out["lease"] = std::to_string(put.lease);
    return out;
}

Json operation(const Change& change) {
    if (change.value) return {{"request_put", put_object(change)}};
    return {{"request_delete_range", {{"key", to_base64(change.key)}}}};
}

Json comparison(const Condition& condition) {
    Json out{{"key", to_base64(condition.key)}, {"result", "EQUAL"}};
    switch (condition.what) {
        case Condition::What::absent:
            out["target"] = "CREATE";
            out["create_revision"] = "0";
            break;
        case Condition::What::value:
            out["target"] = "VALUE";
            out["value"] = to_base64(condition.value);
            break;
        case Condition::What::lease:
            out["target"] = "LEASE";
            out["lease"] = std::to_string(condition.lease);
            break;
    }
    return out;
}

Json prefix_object(std::string_view prefix) {
    return {{"key", to_base64(prefix)}, {"range_end", to_base64(end_of_prefix(prefix))}};
}

}  // namespace

NotEtcd::NotEtcd(std::string_view reply)
    : Error(fmt::format("this is no answer of etcd 3.4 or later: {}", one_line(reply, 200))) {}

std::string end_of_prefix(std::string_view prefix) {
    std::string out(prefix);
    while (!out.empty() && out.back() == '\xff') out.pop_back();
    if (out.empty()) return std::string(1, '\0');  // etcd's encoding of "no end"
    ++out.back();
    return out;
}

std::string put_request(const Change& put) {
    return put_object(put).dump();
}

std::string key_request(std::string_view key) {
    return Json{{"key", to_base64(key)}}.dump();
}

std::string prefix_request(std::string_view prefix) {
    return prefix_object(prefix).dump();
}

std::string grant_request(int seconds) {
    return Json{{"TTL", std::to_string(seconds)}}.dump();
}

std::string lease_request(std::int64_t lease) {
    return Json{{"ID", std::to_string(lease)}}.dump();
}

std::string watch_request(std::string_view prefix, std::int64_t from_revision) {
    auto watched = prefix_object(prefix);
    watched["start_revision"] = std::to_string(from_revision);
    return Json{{"create_request", std::move(watched)}}.dump();
}

std::string transaction_request(const std::vector<Condition>& conditions,
                                const std::vector<Change>& changes) {
    auto compare = Json::array(), success = Json::array();
    for (const auto& condition : conditions) compare.push_back(comparison(condition));
    for (const auto& change : changes) success.push_back(operation(change));
    return Json{{"compare", std::move(compare)}, {"success", std::move(success)}}.dump();
}

std::string authenticate_request(const std::string& user, const std::string& password) {
    return dumped({{"name", user}, {"password", password}});
}

Found read_found(std::string_view reply) {
    const auto object = read_object(reply);
    const auto header = object.find("header");
    if (header == object.end() || !header->is_object()) throw NotEtcd(reply);
    Found out{.revision = number_in(*header, "revision")};
    const auto keys = object.find("kvs");
    if (keys == object.end()) return out;
    if (!keys->is_array()) throw NotEtcd(reply);
    for (const auto& each : *keys) {
        if (!each.is_object()) throw NotEtcd(reply);
        out.keys.push_back({.key = bytes_in(each, "key"),
                            .value = bytes_in(each, "value"),
                            .created = number_in(each, "create_revision"),
                            .modified = number_in(each, "mod_revision"),
                            .lease = number_in(each, "lease")});
    }
    return out;
}

Lease read_lease(std::string_view reply) {
    const auto object = read_object(reply);
    return {.id = number_in(object, "ID"), .seconds = static_cast<int>(number_in(object, "TTL"))};
}

bool read_succeeded(std::string_view reply) {
    const auto object = read_object(reply);
    const auto found = object.find("succeeded");
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::int64_t read_deleted(std::string_view reply) {
    return number_in(read_object(reply), "deleted");
}

std::string read_token(std::string_view reply) {
    const auto object = read_object(reply);
    const auto found = object.find("token");
    if (found == object.end() || !found->is_string()) throw NotEtcd(reply);
    return found->get<std::string>();
}

bool is_change(std::string_view line) {
    const auto object = read_object(line);
    return object.contains("events") || object.contains("canceled") || object.contains("error");
}

std::optional<Refusal> read_refusal(std::string_view reply) {
    const auto object = Json::parse(reply, nullptr, false);
    if (!object.is_object()) return std::nullopt;
    const auto text_in = [](const Json& from, const char* name) {
        const auto found = from.find(name);
        return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    // etcd answers by grpc-gateway. Its second version has no "error" but in streams, and "code" for
    // "grpc_code".
    const auto error = object.find("error");
    if (error != object.end() && error->is_object())  // in a stream
        return Refusal{
            .code = static_cast<int>(number_in(*error, error->contains("grpc_code") ? "grpc_code" : "code")),
            .text = text_in(*error, "message")};
    const bool is_refusal = error != object.end() || (object.contains("code") && object.contains("message"));
    if (!is_refusal) return std::nullopt;
    return Refusal{.code = static_cast<int>(number_in(object, "code")),
                   .text = text_in(object, error != object.end() ? "error" : "message")};
}

}  // namespace dtrain::elastic
