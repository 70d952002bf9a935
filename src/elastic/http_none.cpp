// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <dtrain/error.hpp>

#include "elastic/http.hpp"

/// Replaces http_curl.cpp if dtrain is built without libcurl.
namespace dtrain::elastic {

HttpError::HttpError(const std::string& url, const std::string& cause, bool hopeless)
    : Error(url + ": " + cause), cause_(cause), hopeless_(hopeless) {}

class Http::Transfer {};

Http::Http(TlsFiles) {
    throw UsageError("elastic jobs need libcurl, and this dtrain was built without; see docs/packages.md");
}
Http::~Http() = default;
Http::Http(Http&&) noexcept = default;
Http& Http::operator=(Http&&) noexcept = default;

HttpReply Http::post(const HttpRequest&) {
    return {};
}

void Http::interrupt() {}

}  // namespace dtrain::elastic
