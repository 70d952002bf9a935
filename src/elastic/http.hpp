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

/// Paths of PEM files; "" where there is none.
struct TlsFiles {
    std::string authority;  ///< whom servers are believed by; "": the system's
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
    /// Gets the reply piece by piece in place of HttpReply::body; false: that was enough. `limit` holds for
    /// its beginning only.
    std::function<bool(std::string_view piece)> on_piece;
    std::chrono::milliseconds listen_limit{0};  ///< for a reply by pieces, from its first piece on
};

struct HttpReply {
    int status = 0;
    bool cut_off = false;  ///< `listen_limit` passed, or on_piece had enough
    std::string body;
};

/// There was no reply.
class HttpError : public Error {
  public:
    HttpError(const std::string& url, const std::string& cause, bool hopeless);

    const std::string& cause() const { return cause_; }
    /// Trying again leads nowhere: a certificate that is not believed, a file that cannot be read.
    bool hopeless() const { return hopeless_; }

  private:
    std::string cause_;
    bool hopeless_;
};

/// Posts to HTTP servers, one request at a time, past any proxy. Connections are kept.
class Http {
  public:
    explicit Http(TlsFiles tls);
    ~Http();
    Http(Http&&) noexcept;
    Http& operator=(Http&&) noexcept;

    /// @throws HttpError when no reply began within the limits or the request was interrupted.
    HttpReply post(const HttpRequest& request);

    /// Ends the request that is under way, and every later one. For other threads.
    void interrupt();

  private:
    class Transfer;
    std::unique_ptr<Transfer> transfer_;
};

}  // namespace dtrain::elastic
