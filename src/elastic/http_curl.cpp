// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "elastic/curl_library.hpp"
#include "elastic/http.hpp"

namespace dtrain::elastic {
namespace {

const CurlLibrary& curl() {
    return CurlLibrary::loaded();
}

struct CloseEasy {
    void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};
struct CloseMulti {
    void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
};
struct FreeList {
    void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, CloseEasy>;
using Multi = std::unique_ptr<CURLM, CloseMulti>;
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

bool is_hopeless(CURLcode code) {
    switch (code) {
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_URL_MALFORMAT:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CACERT_BADFILE:
            return true;
        default:
            return false;
    }
}

HeaderList header_list(const std::vector<std::string>& headers) {
    HeaderList list;
    for (const auto& header : headers) {
        auto* longer = curl().slist_append(list.get(), header.c_str());
        if (longer == nullptr) throw std::bad_alloc();
        if (!list) list.reset(longer);  // otherwise the first element is unchanged
    }
    return list;
}

using Clock = std::chrono::steady_clock;

struct Receiving {
    const HttpRequest& request;
    HttpReply& reply;
    std::optional<Clock::time_point> begun{};
    std::exception_ptr error{};  ///< must not propagate through libcurl
};

std::size_t take_piece(char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& receiving = *static_cast<Receiving*>(to);
    const std::string_view piece(bytes, size * count);
    if (!receiving.begun) receiving.begun = Clock::now();
    try {
        if (!receiving.request.on_piece)
            receiving.reply.body += piece;
        else if (!receiving.request.on_piece(piece))
            receiving.reply.cut_off = true;
    } catch (...) {
        receiving.error = std::current_exception();
    }
    return receiving.reply.cut_off || receiving.error ? 0 : piece.size();
}

}  // namespace

HttpError::HttpError(const std::string& url, const std::string& cause, bool hopeless)
    : Error(fmt::format("{}: {}", url, cause)), cause_(cause), hopeless_(hopeless) {}

class Http::Transfer {
  public:
    explicit Transfer(TlsFiles tls) : tls_(std::move(tls)) {
        easy_.reset(curl().easy_init());
        multi_.reset(curl().multi_init());
        if (!easy_ || !multi_) throw std::bad_alloc();
    }

    HttpReply post(const HttpRequest& request) {
        HttpReply reply;
        Receiving receiving{.request = request, .reply = reply};
        const auto headers = header_list(request.headers);
        std::string cause(CURL_ERROR_SIZE, '\0');
        set_up(request, headers.get(), receiving, cause);
        const auto code = perform(receiving);
        if (receiving.error) std::rethrow_exception(receiving.error);
        long status = 0;
        curl().easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
        reply.status = static_cast<int>(status);
        if (code == CURLE_OK || reply.cut_off) return reply;
        cause.resize(cause.find('\0'));
        if (interrupted_) cause = "interrupted";
        if (code == CURLE_COULDNT_CONNECT) cause += system_cause();
        throw HttpError(request.url, cause.empty() ? curl().easy_strerror(code) : cause, is_hopeless(code));
    }

    void interrupt() {
        interrupted_ = true;
        curl().multi_wakeup(multi_.get());
    }

  private:
    template <class Value>
    void set(CURLoption option, Value value) {
        const auto code = curl().easy_setopt(easy_.get(), option, value);
        if (code != CURLE_OK) throw Error(fmt::format("libcurl: {}", curl().easy_strerror(code)));
    }

    /// The system's error, which libcurl's messages omit.
    std::string system_cause() {
        long error = 0;
        curl().easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
        if (error == 0) return "";
        return fmt::format(" ({})", std::generic_category().message(static_cast<int>(error)));
    }

    void set_up(const HttpRequest& request, curl_slist* headers, Receiving& receiving, std::string& cause) {
        curl().easy_reset(easy_.get());  // keeps connections open
        set(CURLOPT_URL, request.url.c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_NOPROXY, "*");
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(CURLOPT_POSTFIELDS, request.body.c_str());
        set(CURLOPT_HTTPHEADER, headers);
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_limit.count()));
        if (!request.on_piece) set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.limit.count()));
        set(CURLOPT_ERRORBUFFER, cause.data());
        set(CURLOPT_WRITEFUNCTION, &take_piece);
        set(CURLOPT_WRITEDATA, &receiving);
        if (!tls_.authority.empty()) set(CURLOPT_CAINFO, tls_.authority.c_str());
        if (!tls_.certificate.empty()) set(CURLOPT_SSLCERT, tls_.certificate.c_str());
        if (!tls_.key.empty()) set(CURLOPT_SSLKEY, tls_.key.c_str());
    }

    CURLcode perform(Receiving& receiving) {
        curl().multi_add_handle(multi_.get(), easy_.get());
        const auto begin = Clock::now();
        auto code = CURLE_ABORTED_BY_CALLBACK;
        for (int running = 1; !interrupted_;) {
            if (curl().multi_perform(multi_.get(), &running) != CURLM_OK || running == 0) break;
            const int left_ms = milliseconds_left(receiving, begin);
            if (left_ms == 0) {
                receiving.reply.cut_off = receiving.begun.has_value();
                code = CURLE_OPERATION_TIMEDOUT;
                break;
            }
            curl().multi_poll(multi_.get(), nullptr, 0, left_ms, nullptr);
        }
        int left = 0;
        while (const auto* message = curl().multi_info_read(multi_.get(), &left))
            if (message->msg == CURLMSG_DONE) code = message->data.result;
        curl().multi_remove_handle(multi_.get(), easy_.get());
        return code;
    }

    /// Time left until the limits that libcurl does not know.
    static int milliseconds_left(const Receiving& receiving, Clock::time_point begin) {
        const auto& request = receiving.request;
        if (!request.on_piece) return max_poll_ms;
        const auto until = receiving.begun ? *receiving.begun + request.listen_limit : begin + request.limit;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        return static_cast<int>(std::clamp<long>(left, 0, max_poll_ms));
    }

    static constexpr int max_poll_ms = 1000;

    TlsFiles tls_;
    Multi multi_;
    Easy easy_;
    std::atomic<bool> interrupted_ = false;
};

Http::Http(TlsFiles tls) : transfer_(std::make_unique<Transfer>(std::move(tls))) {}
Http::~Http() = default;
Http::Http(Http&&) noexcept = default;
Http& Http::operator=(Http&&) noexcept = default;

HttpReply Http::post(const HttpRequest& request) {
    return transfer_->post(request);
}

void Http::interrupt() {
    transfer_->interrupt();
}

}  // namespace dtrain::elastic
