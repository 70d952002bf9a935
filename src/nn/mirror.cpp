// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/mirror.hpp"

namespace dtrain::eager {

void Mirror::read_on_device() {
    if (!newer_.needs_upload()) return;
    transfers_.up(device_, host_, bytes_);
    is_being_read_ = true;
    newer_.note_alike();
}

std::byte* Mirror::read_on_host() {
    if (newer_.needs_download()) {
        start_reading_to_host();
        transfers_.finish();
    }
    return host_.get();
}

std::byte* Mirror::write_on_host() {
    read_on_host();
    return fill_on_host();
}

std::byte* Mirror::fill_on_host() {
    if (is_being_read_) transfers_.settle();
    is_being_read_ = false;
    if (!host_) host_ = transfers_.take_on_host(bytes_);
    newer_.note_written_on_host();
    return host_.get();
}

void Mirror::start_reading_to_host() {
    if (!newer_.needs_download()) return;
    if (!host_) host_ = transfers_.take_on_host(bytes_);
    transfers_.down(host_.get(), device_, bytes_);
    newer_.note_alike();
}

}  // namespace dtrain::eager
