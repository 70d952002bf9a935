// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/curl_library.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::elastic {
namespace {

constexpr const char* file = "libcurl.so.4";  // the ABI has had this version since 2006

template <class Function>
void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr)
        throw Error(fmt::format("{} has no {}; elastic jobs need libcurl 7.85", file, name));
}

}  // namespace

const CurlLibrary& CurlLibrary::loaded() {
    static const CurlLibrary library;
    return library;
}

CurlLibrary::CurlLibrary() {
    void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // never unloaded: it has its own threads and
                                                            // handlers
    if (library == nullptr)
        throw Error(fmt::format("elastic jobs need libcurl, which cannot be loaded: {}", ::dlerror()));
    find(library, easy_init, "curl_easy_init");
    find(library, easy_cleanup, "curl_easy_cleanup");
    find(library, easy_reset, "curl_easy_reset");
    find(library, easy_setopt, "curl_easy_setopt");
    find(library, easy_getinfo, "curl_easy_getinfo");
    find(library, easy_strerror, "curl_easy_strerror");
    find(library, multi_init, "curl_multi_init");
    find(library, multi_cleanup, "curl_multi_cleanup");
    find(library, multi_add_handle, "curl_multi_add_handle");
    find(library, multi_remove_handle, "curl_multi_remove_handle");
    find(library, multi_perform, "curl_multi_perform");
    find(library, multi_poll, "curl_multi_poll");
    find(library, multi_info_read, "curl_multi_info_read");
    find(library, multi_wakeup, "curl_multi_wakeup");
    find(library, slist_append, "curl_slist_append");
    find(library, slist_free_all, "curl_slist_free_all");
    decltype(&::curl_global_init) global_init = nullptr;
    find(library, global_init, "curl_global_init");
    if (const auto code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
        throw Error(fmt::format("libcurl: {}", easy_strerror(code)));
}

}  // namespace dtrain::elastic
