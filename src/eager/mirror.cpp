// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "eager/mirror.hpp"

namespace dtrain::eager {

void Mirror::read_there() {
    if (newer_ != Newer::here) return;
    transfers_.up(there_, here_, bytes_);
    is_being_read_ = true;
    newer_ = Newer::none;
}

std::byte* Mirror::read_here() {
    if (newer_ == Newer::there) {
        start_reading_here();
        transfers_.finish();
    }
    return here_.get();
}

std::byte* Mirror::write_here() {
    read_here();
    return fill_here();
}

std::byte* Mirror::fill_here() {
    if (is_being_read_) transfers_.settle();
    is_being_read_ = false;
    if (!here_) here_ = transfers_.take_here(bytes_);
    newer_ = Newer::here;
    return here_.get();
}

void Mirror::start_reading_here() {
    if (newer_ != Newer::there) return;
    if (!here_) here_ = transfers_.take_here(bytes_);
    transfers_.down(here_.get(), there_, bytes_);
    newer_ = Newer::none;
}

}  // namespace dtrain::eager
