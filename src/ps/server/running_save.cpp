// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/running_save.hpp"

#include <exception>

#include "ps/wire/message.hpp"

namespace dtrain::ps {

bool RunningSave::begin(int rank, std::uint64_t request, const std::string& text) {
    try {
        if (!saver_) throw MessageError("this server keeps no checkpoints");
        if (is_in_progress_) throw MessageError("a 'save' before the one in progress is complete");
        saver_->begin(text);
    } catch (const std::exception& failed) {
        report_failure(failed.what());
        send_message(*transport_, rank, {.kind = MessageKind::failed, .request = request}, failed.what());
        return false;
    }
    is_in_progress_ = true;
    asked_by_ = rank;
    request_ = request;
    send_message(*transport_, rank, {.kind = MessageKind::saving, .request = request_});
    return true;
}

void RunningSave::forget(int rank) {
    if (asked_by_ == rank) asked_by_.reset();
}

bool RunningSave::go_on() {
    if (!is_in_progress_) return false;
    MessageHeader header{.kind = MessageKind::saved, .request = request_};
    std::string said;
    try {
        if (saver_->step()) return true;
        if (!saver_->is_written()) return false;
        said = saver_->finish();
    } catch (const std::exception& failed) {
        header.kind = MessageKind::failed;
        said = failed.what();
        report_failure(said);
    }
    is_in_progress_ = false;
    if (asked_by_) send_message(*transport_, *asked_by_, header, said);
    return true;
}

}  // namespace dtrain::ps
