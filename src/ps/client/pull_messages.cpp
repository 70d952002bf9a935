// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/pull_messages.hpp"

#include <algorithm>

#include "ps/client/message_size.hpp"

namespace dtrain::ps {

RowRequest::Part PullMessages::add(std::size_t server, const WantedRows& wanted) {
    auto& open = open_[server];
    const auto bytes = MessageWriter::bytes_of_rows(wanted.ids.size(), shapes_->width(wanted.table));
    if (open && must_flush_before(open->answer_bytes, bytes)) send_open(server);
    if (!open) open.emplace(begun(server, wanted));
    open->answer_bytes += bytes;
    return write(*open, wanted);
}

RowRequest::Part PullMessages::send(std::size_t server, const WantedRows& wanted) {
    auto message = begun(server, wanted);
    const auto part = write(message, wanted);
    send(server, message);
    return part;
}

void PullMessages::send_all() {
    for (std::size_t server = 0; server < open_.size(); ++server)
        if (open_[server]) send_open(server);
}

PullMessages::Open PullMessages::begun(std::size_t server, const WantedRows& wanted) {
    const auto request = channel_->open(static_cast<int>(server), MessageKind::pull);
    const MessageHeader header{.kind = MessageKind::pull, .step = step_, .request = request};
    return {MessageWriter(channel_->transport(), header, MessageWriter::bytes_of_rows(wanted.ids.size(), 0)),
            request};
}

RowRequest::Part PullMessages::write(Open& open, const WantedRows& wanted) {
    std::ranges::copy(wanted.ids,
                      open.message.ask_rows(wanted.table, wanted.ids.size(), wanted.reads_only).begin());
    const auto section = open.sections++;
    channel_->set_takers(open.request, open.sections);
    return {open.request, section};
}

void PullMessages::send_open(std::size_t server) {
    send(server, *open_[server]);
    open_[server].reset();
}

void PullMessages::send(std::size_t server, Open& open) {
    channel_->send(static_cast<int>(server), open.message);
    channel_->transport().deliver();
}

}  // namespace dtrain::ps
