// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/etcd_client.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::elastic {
namespace {

/// Status codes of https://grpc.io/docs/guides/status-codes/
constexpr int invalid_argument = 3;
constexpr int deadline_exceeded = 4;
constexpr int resource_exhausted = 8;
constexpr int unavailable = 14;
constexpr int unauthenticated = 16;

constexpr int http_ok = 200;
constexpr int http_not_found = 404;
constexpr std::string_view no_such_path = "Not Found";  // of an etcd 3.5 and later
constexpr int http_server_error = 500;

bool passes(const Refusal& refusal) {
    return refusal.code == unavailable || refusal.code == deadline_exceeded ||
           refusal.code == resource_exhausted;
}

/// Whether the token has expired, or users were changed since it was issued.
bool asks_to_log_in(const Refusal& refusal) {
    return refusal.code == unauthenticated ||
           (refusal.code == invalid_argument &&
            (refusal.text.find("auth") != std::string::npos ||
             refusal.text.find("user name is empty") != std::string::npos));
}

constexpr auto ignored = [](std::string_view) {};

Refusal refusal_of(const HttpReply& reply) {
    auto refusal = read_refusal(reply.body);
    if (refusal && refusal->text != no_such_path) return *refusal;
    if (reply.status == http_not_found)
        return {.code = Refusal::not_found, .text = "is no etcd 3.4 or later"};
    return {.code = reply.status >= http_server_error ? unavailable : 0,
            .text = fmt::format("HTTP status {}: {}", reply.status, one_line(trimmed(reply.body), 200))};
}

}  // namespace

EtcdError::EtcdError(const std::string& endpoint, const std::string& said)
    : Error(fmt::format("etcd at {}: {}", endpoint, said)), endpoint_(endpoint), said_(said) {}

template <class Read>
auto EtcdClient::call(const std::string& path, const std::string& body, const Read& read) {
    const auto reply = call_any(path, {.body = body, .limit = limits_.request});
    try {
        return read(reply.body);
    } catch (const NotEtcd& not_etcd) {
        throw EtcdRefused(access_.endpoints[endpoint_], {.text = not_etcd.what()});
    }
}

EtcdClient::EtcdClient(EtcdAccess access, EtcdLimits limits)
    : access_(std::move(access)), limits_(limits), http_(access_.tls) {}

Found EtcdClient::get(std::string_view key) {
    return call("kv/range", key_request(key), read_found);
}

Found EtcdClient::get_prefix(std::string_view prefix) {
    return call("kv/range", prefix_request(prefix), read_found);
}

void EtcdClient::put(const Change& put) {
    call("kv/put", put_request(put), ignored);
}

std::int64_t EtcdClient::erase(std::string_view key) {
    return call("kv/deleterange", key_request(key), read_deleted);
}

std::int64_t EtcdClient::erase_prefix(std::string_view prefix) {
    return call("kv/deleterange", prefix_request(prefix), read_deleted);
}

Lease EtcdClient::grant(int seconds) {
    return call("lease/grant", grant_request(seconds), read_lease);
}

Lease EtcdClient::keep_alive(std::int64_t lease) {
    return call("lease/keepalive", lease_request(lease), read_lease);
}

void EtcdClient::revoke(std::int64_t lease) {
    try {
        call("lease/revoke", lease_request(lease), ignored);
    } catch (const EtcdRefused& refused) {
        if (refused.code() != Refusal::not_found) throw;
    }
}

bool EtcdClient::transact(const std::vector<Condition>& conditions, const std::vector<Change>& changes) {
    return call("kv/txn", transaction_request(conditions, changes), read_succeeded);
}

bool EtcdClient::changed_since(std::string_view prefix, std::int64_t revision,
                               std::chrono::milliseconds limit) {
    std::string unread;
    bool changed = false;
    const auto take = [&](std::string_view piece) {
        unread += piece;
        for (auto end = unread.find('\n'); end != std::string::npos && !changed; end = unread.find('\n')) {
            changed = is_change(std::string_view(unread).substr(0, end));
            unread.erase(0, end + 1);
        }
        return !changed;
    };
    try {
        call_any("watch", {.body = watch_request(prefix, revision + 1),
                           .limit = limits_.request,
                           .on_piece = take,
                           .listen_limit = limit});
    } catch (const NotEtcd& not_etcd) {
        throw EtcdRefused(access_.endpoints[endpoint_], {.text = not_etcd.what()});
    }
    return changed;
}

HttpReply EtcdClient::call_any(const std::string& path, HttpRequest request) {
    request.connect_limit = limits_.connect;
    std::vector<std::string> said;
    for (std::size_t tried = 0; tried < access_.endpoints.size(); ++tried) {
        const auto& endpoint = access_.endpoints[endpoint_];
        try {
            return call_one(endpoint, path, request);
        } catch (const HttpError& error) {
            if (error.is_permanent()) throw EtcdRefused(endpoint, {.text = error.cause()});
            said.push_back(error.cause());
        } catch (const EtcdUnavailable& away) {
            said.push_back(away.said());
        }
        endpoint_ = (endpoint_ + 1) % access_.endpoints.size();
    }
    throw EtcdUnavailable(join(access_.endpoints, ", "), join(said, "; "));
}

HttpReply EtcdClient::call_one(const std::string& endpoint, const std::string& path, HttpRequest request) {
    for (bool again = false;; again = true) {
        if (!access_.user.empty() && token_.empty()) log_in(endpoint);
        request.url = fmt::format("{}/v3/{}", endpoint, path);
        request.headers = {"Content-Type: application/json"};
        if (!token_.empty()) request.headers.push_back("Authorization: " + token_);
        auto reply = http_.post(request);
        if (reply.status == http_ok && !read_refusal(reply.body)) return reply;
        const auto refusal = refusal_of(reply);
        if (passes(refusal)) throw EtcdUnavailable(endpoint, refusal.text);
        if (again || token_.empty() || !asks_to_log_in(refusal)) throw EtcdRefused(endpoint, refusal);
        token_.clear();
    }
}

void EtcdClient::log_in(const std::string& endpoint) {
    const auto reply = http_.post({.url = endpoint + "/v3/auth/authenticate",
                                   .body = authenticate_request(access_.user, access_.password),
                                   .headers = {"Content-Type: application/json"},
                                   .connect_limit = limits_.connect,
                                   .limit = limits_.request});
    if (reply.status != http_ok) {
        const auto refusal = refusal_of(reply);
        if (passes(refusal)) throw EtcdUnavailable(endpoint, refusal.text);
        throw EtcdRefused(
            endpoint, {.code = refusal.code, .text = fmt::format("user {}: {}", access_.user, refusal.text)});
    }
    token_ = read_token(reply.body);
}

}  // namespace dtrain::elastic
