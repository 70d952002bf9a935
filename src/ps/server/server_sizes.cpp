// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Server: reports the sizes of its tables. Trainers add them up, since a table's dict_size limits all servers
// together.
#include "ps/server/server.hpp"

namespace dtrain::ps {

void Server::report_sizes(std::size_t trainer, const MessageHeader& asked) {
    const auto turn = static_cast<SizesTurn>(asked.steps);
    if (turn == SizesTurn::takes) {
        if (turn_.value_or(trainer) != trainer) {
            waiting_for_turn_.push_back({trainer, asked});
            return;
        }
        turn_ = trainer;
    }
    reply_with_sizes(trainer, {.kind = MessageKind::sized, .step = steps_, .request = asked.request});
    if (turn == SizesTurn::gives_back) give_turn_back(trainer);
}

void Server::give_turn_back(std::size_t trainer) {
    if (turn_ != trainer) return;
    turn_.reset();
    if (waiting_for_turn_.empty()) return;
    const auto next = waiting_for_turn_.front();
    waiting_for_turn_.pop_front();
    report_sizes(next.trainer, next.asked);
}

void Server::add_sizes(MessageWriter& writer) const {
    for (std::uint32_t number = 0; number < tables_.size(); ++number)
        if (const auto& table = tables_[number]; table.options().dict_size)
            writer.add_size(number, table.size(), table.counts().evicted);
}

void Server::reply_with_sizes(std::size_t trainer, const MessageHeader& header) {
    MessageWriter writer(*transport_, header);
    add_sizes(writer);
    writer.send(trainers_[trainer].rank);
}

}  // namespace dtrain::ps
