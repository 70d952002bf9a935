// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/error.hpp>

namespace dtrain::elastic {

/// Paths of PEM files; "" if there is none.
struct TlsFiles {
    std::string authority;  ///< certificate authority for servers; "": the system's
    std::string certificate;
    std::string key;
    friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct HttpRequest {
    std::string url;
    std::string body;
    std::vector<std::string> headers;  ///< "Name: value"
    std::chrono::milliseconds connect_limit{0};
    std::chrono::milliseconds limit{0};
    /// Receives the reply piece by piece instead of HttpReply::body; returning false ends it. `limit` then
    /// applies only until the first piece.
    std::function<bool(std::string_view piece)> on_piece;
    std::chrono::milliseconds listen_limit{0};  ///< for a reply in pieces, counted from its first piece
};

struct HttpReply {
    int status = 0;
    bool cut_off = false;  ///< `listen_limit` passed, or on_piece returned false
    std::string body;
};

/// There was no reply.
class HttpError : public Error {
  public:
    HttpError(const std::string& url, const std::string& cause, bool hopeless);

    const std::string& cause() const { return cause_; }
    /// Whether a retry is pointless: an untrusted certificate, or a file that cannot be read.
    bool hopeless() const { return hopeless_; }

  private:
    std::string cause_;
    bool hopeless_;
};

/// Sends POST requests to HTTP servers, one at a time, bypassing any proxy. Connections are reused.
class Http {
  public:
    explicit Http(TlsFiles tls);
    ~Http();
    Http(Http&&) noexcept;
    Http& operator=(Http&&) noexcept;

    /// @throws HttpError if no reply began within the limits or the request was interrupted.
    HttpReply post(const HttpRequest& request);

    /// Ends the current request, and every later one. May be called by other threads.
    void interrupt();

  private:
    class Transfer;
    std::unique_ptr<Transfer> transfer_;
};

}  // namespace dtrain::elastic
