// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/error.hpp>

/// Messages of etcd's JSON gateway (https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/): keys and values
/// in base64, 64-bit numbers as strings, zero and empty values omitted.
namespace dtrain::elastic {

struct KeyValue {
    std::string key;
    std::string value;
    std::int64_t created = 0;   ///< revision
    std::int64_t modified = 0;  ///< revision
    std::int64_t lease = 0;     ///< 0: none
    friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// Keys as of one revision, sorted.
struct Found {
    std::int64_t revision = 0;
    std::vector<KeyValue> keys;
    friend bool operator==(const Found&, const Found&) = default;
};

struct Lease {
    std::int64_t id = 0;
    int seconds = 0;  ///< remaining when the server answered; 0: the lease no longer exists
    friend bool operator==(const Lease&, const Lease&) = default;
};

/// A condition of a transaction.
struct Condition {
    enum class What { absent, value, lease };
    What what = What::absent;
    std::string key;
    std::string value;
    std::int64_t lease = 0;

    static Condition absent(std::string key) { return {.key = std::move(key)}; }
    static Condition has_value(std::string key, std::string value) {
        return {.what = What::value, .key = std::move(key), .value = std::move(value)};
    }
    static Condition held_by(std::string key, std::int64_t lease) {
        return {.what = What::lease, .key = std::move(key), .lease = lease};
    }
};

/// A change made by a transaction.
struct Change {
    std::string key;
    std::optional<std::string> value;  ///< nothing: the key is deleted
    std::int64_t lease = 0;

    static Change put(std::string key, std::string value, std::int64_t lease = 0) {
        return {.key = std::move(key), .value = std::move(value), .lease = lease};
    }
    static Change erase(std::string key) { return {.key = std::move(key)}; }
};

/// Why a request was refused, with the codes of https://grpc.io/docs/guides/status-codes/.
struct Refusal {
    static constexpr int not_found = 5;

    int code = 0;
    std::string text;
};

std::string put_request(const Change& put);
std::string key_request(std::string_view key);
std::string prefix_request(std::string_view prefix);
std::string grant_request(int seconds);
std::string lease_request(std::int64_t lease);
std::string watch_request(std::string_view prefix, std::int64_t from_revision);
std::string transaction_request(const std::vector<Condition>& conditions, const std::vector<Change>& changes);
std::string authenticate_request(const std::string& user, const std::string& password);

/// The smallest key after all keys that begin with `prefix`.
std::string end_of_prefix(std::string_view prefix);

/// The reply is not one that etcd 3.4 or later sends.
class NotEtcd : public Error {
  public:
    explicit NotEtcd(std::string_view reply);
};

/// All of these throw NotEtcd.
Found read_found(std::string_view reply);
Lease read_lease(std::string_view reply);
bool read_succeeded(std::string_view reply);
std::int64_t read_deleted(std::string_view reply);
std::string read_token(std::string_view reply);
/// Whether a line of a watch reports a change, or that the watch cannot tell and the caller must read again.
bool is_change(std::string_view line);

/// The reason in a reply of any status; nothing if it is not a refusal.
std::optional<Refusal> read_refusal(std::string_view reply);

}  // namespace dtrain::elastic
