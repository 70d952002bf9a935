// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ps/server/layout_difference.hpp"

namespace dtrain::ps {
namespace {

/// Whether a trainer may send it only between 'join' and 'leave'.
bool is_between_join_and_leave(MessageKind kind) {
    switch (kind) {
        case MessageKind::push:
        case MessageKind::pull:
        case MessageKind::day:
        case MessageKind::save:
        case MessageKind::count:
        case MessageKind::sizes:
        case MessageKind::idle:
        case MessageKind::leave:
            return true;
        default:
            return false;
    }
}

}  // namespace

Server::Server(ServerOptions options, DensePart dense, std::vector<ServerTable> tables,
               comm::Transport& transport)
    : options_(std::move(options)),
      transport_(&transport),
      parameters_(std::move(dense), std::move(tables), options_.table_threads, options_.reject_not_finite,
                  counts_),
      trainers_(options_.trainers),
      steps_(options_.mode, options_.staleness, trainers_.count(), options_.first_step),
      pushed_(trainers_.count()),
      waiting_(trainers_.count()),
      save_(transport) {}

void Server::take(comm::Message&& message) {
    const int from = message.from;
    MessageHeader header;
    try {
        const MessageReader reader(message.content.bytes());
        header = reader.header();
        const auto trainer = trainers_.number_of(from);
        if (!broken_.empty() && header.kind != MessageKind::abandon) throw MessageError(broken_);
        if (is_between_join_and_leave(header.kind)) trainers_.check_joined(trainer, header.kind);
        switch (header.kind) {
            case MessageKind::join:
                return join(trainer, reader);
            case MessageKind::push:
                return push(trainer, std::move(message), reader);
            case MessageKind::pull:
            case MessageKind::save:
            case MessageKind::day:
                return ask(trainer, parse_request(std::move(message), reader, parameters_.shapes()));
            case MessageKind::count:
                return reply(trainer, {.kind = MessageKind::counted, .request = header.request},
                             on_count_ ? on_count_() : "");
            case MessageKind::sizes:
                return report_sizes(trainer, header);
            case MessageKind::idle:
                return pass_step(trainer);
            case MessageKind::leave:
                return leave(trainer, header);
            case MessageKind::abandon:
                return trainers_.note_abandoned(trainer, std::chrono::steady_clock::now());
            default:
                throw MessageError(fmt::format("a server gets no '{}'", to_string(header.kind)));
        }
    } catch (const Error& refused) {
        ++counts_.refused;
        report_failure(refused.what());
        send_message(*transport_, from, {.kind = MessageKind::failed, .request = header.request},
                     refused.what());
        if (!broken_.empty()) refuse_waiting();
    }
}

void Server::join(std::size_t trainer, const MessageReader& reader) {
    trainers_.check_may_join(trainer);
    if (const auto difference = layout_difference(options_.layout, reader.text()))
        throw MessageError(*difference);
    trainers_.join(trainer);
    reply_with_sizes(trainer,
                     {.kind = MessageKind::accept, .step = steps(), .request = reader.header().request});
}

void Server::push(std::size_t trainer, comm::Message&& message, const MessageReader& reader) {
    const auto header = reader.header();
    pushed_.add(trainer, parse_push(std::move(message), reader, parameters_.shapes()));
    ++counts_.pushes;
    if (header.steps == 0) return;
    steps_.end(trainer, options_.mode == ServerMode::sync ? 1 : header.steps);
    if (options_.mode == ServerMode::sync) {
        pushed_.keep_step(trainer);
        apply_common_steps();
    } else {
        apply_step_of(trainer, header);
    }
    answer_waiting();
}

void Server::pass_step(std::size_t trainer) {
    if (pushed_.is_within_step(trainer))
        throw MessageError(fmt::format("an 'idle' of trainer {} within a step of its own", trainer));
    steps_.end(trainer, 1);
    if (options_.mode == ServerMode::sync) {
        pushed_.keep_step(trainer);
        apply_common_steps();
    }
    answer_waiting();
}

void Server::leave(std::size_t trainer, const MessageHeader& header) {
    trainers_.leave(trainer);
    steps_.leave(trainer);
    save_.forget(trainers_.rank(trainer));
    waiting_.take_all(trainer);
    reply_to_next_turn(turn_.leave(trainer));
    auto unfinished = pushed_.leave(trainer);
    recycle(unfinished);
    if (options_.mode == ServerMode::sync) apply_common_steps();
    reply(trainer, {.kind = MessageKind::farewell, .step = steps(), .request = header.request});
    answer_waiting();
}

void Server::report_sizes(std::size_t trainer, const MessageHeader& asked) {
    const auto turn = static_cast<ReportLock>(asked.steps);
    if (turn == ReportLock::takes && !turn_.take({trainer, asked.request})) return;
    reply_with_sizes(trainer, {.kind = MessageKind::sized, .step = steps(), .request = asked.request});
    if (turn == ReportLock::gives_back) reply_to_next_turn(turn_.give_back(trainer));
}

void Server::reply_to_next_turn(const std::optional<ReportTurn::Waiting>& next) {
    if (next)
        reply_with_sizes(next->trainer,
                         {.kind = MessageKind::sized, .step = steps(), .request = next->request});
}

void Server::apply_step_of(std::size_t trainer, const MessageHeader& last) {
    auto step = pushed_.take_step(trainer);
    const Timed timed(load_.updates);
    parameters_.set_gradients(0, step);
    update(last.steps);
    recycle(step);
    reply_with_sizes(trainer, {.kind = MessageKind::applied, .step = steps(), .request = last.request});
}

void Server::apply_common_steps() {
    while (pushed_.has_common_step()) {
        const Timed timed(load_.updates);
        auto step_of_each = pushed_.take_common_step();
        for (std::size_t trainer = 0; trainer < step_of_each.size(); ++trainer)
            parameters_.set_gradients(static_cast<int>(trainer), step_of_each[trainer]);
        update(1);
        for (auto& step : step_of_each) recycle(step);
    }
}

void Server::update(std::uint32_t steps) {
    try {
        parameters_.update(steps, steps_.updates() + 1);
        steps_.note_update();
    } catch (const Error& failed) {
        // A step is only partly applied, so the parameters must not be read any more.
        broken_ = failed.what();
        throw;
    }
}

// Errors of an update on a GPU appear here, where the server waits for it.
void Server::copy_dense_to_host() {
    try {
        parameters_.bring_dense();
    } catch (const Error& failed) {
        broken_ = fmt::format("an update on {} failed: {}", dense().device(), failed.what());
        throw Error(broken_);
    }
}

void Server::recycle(PushedSteps::Step& step) {
    for (auto& push : step) transport_->recycle(std::move(push.message.content));
}

void Server::ask(std::size_t trainer, Request&& request) {
    if (request.header.kind == MessageKind::pull) ++counts_.pulls;
    if (steps_.is_due(request.header)) return answer(trainer, std::move(request));
    waiting_.add(trainer, std::move(request), std::chrono::steady_clock::now());
    load_.max_waiting = std::max(load_.max_waiting, waiting_.count());
}

void Server::answer_waiting() {
    if (!broken_.empty()) return refuse_waiting();
    may_be_due_ = true;
    go_on_answering();
}

void Server::refuse_waiting() {
    const auto refuse = [this](std::size_t trainer, std::uint64_t request) {
        reply(trainer, {.kind = MessageKind::failed, .request = request}, broken_);
    };
    may_be_due_ = false;
    for (std::size_t trainer = 0; trainer < trainers_.count(); ++trainer)
        for (const auto& request : waiting_.take_all(trainer)) refuse(trainer, request.header.request);
    for (const auto& [trainer, request] : turn_.take_waiting()) refuse(trainer, request);
}

bool Server::go_on_answering() {
    if (!std::exchange(may_be_due_, false)) return false;
    for (std::size_t trainer = 0; trainer < trainers_.count(); ++trainer) {
        auto due = waiting_.take(trainer, [this](const auto& header) { return steps_.is_due(header); });
        if (!due) continue;
        may_be_due_ = true;
        answer(trainer, std::move(*due));
    }
    return may_be_due_;
}

void Server::answer(std::size_t trainer, Request&& request) {
    const auto& asked = request.header;
    try {
        if (const auto* const pull = std::get_if<AskedValues>(&request.content))
            give_values(trainer, asked, *pull);
        else if (const auto* const save = std::get_if<AskedSave>(&request.content))
            begin_save(trainer, asked, *save);
        else
            begin_day(trainer, asked, std::get<AskedDay>(request.content));
    } catch (const Error& refused) {
        ++counts_.refused;
        report_failure(refused.what());
        const bool is_full = dynamic_cast<const DictSizeError*>(&refused) != nullptr;
        reply(trainer, {.kind = MessageKind::failed, .steps = is_full ? 1U : 0U, .request = asked.request},
              refused.what());
    }
    transport_->recycle(std::move(request.message.content));
    if (!broken_.empty()) refuse_waiting();
}

void Server::give_values(std::size_t trainer, const MessageHeader& asked, const AskedValues& pull) {
    const Timed timed(load_.answers);
    if (pull.asks_dense) copy_dense_to_host();
    MessageWriter writer(*transport_,
                         {.kind = MessageKind::values, .step = steps(), .request = asked.request},
                         pull.answer_bytes);
    parameters_.write_values(pull, writer);
    writer.send(trainers_.rank(trainer));
}

void Server::begin_save(std::size_t trainer, const MessageHeader& asked, const AskedSave& save) {
    copy_dense_to_host();
    if (!save_.begin(trainers_.rank(trainer), asked.request, save.text)) ++counts_.refused;
}

void Server::begin_day(std::size_t trainer, const MessageHeader& asked, const AskedDay& day) {
    const auto evicted = static_cast<std::int64_t>(parameters_.begin_day(day));
    reply(trainer, {.kind = MessageKind::begun, .step = evicted, .request = asked.request});
}

void Server::reply(std::size_t trainer, const MessageHeader& header, std::string_view text) {
    send_message(*transport_, trainers_.rank(trainer), header, text);
}

void Server::reply_with_sizes(std::size_t trainer, const MessageHeader& header) {
    MessageWriter writer(*transport_, header);
    parameters_.write_sizes(writer);
    writer.send(trainers_.rank(trainer));
}

ServerLoad Server::take_load() {
    counts_.answers += load_.answers;
    counts_.updates += load_.updates;
    return std::exchange(load_, {.max_waiting = waiting_.count()});
}

std::vector<int> Server::missing_trainers() const {
    return waiting_.count() > 0 ? steps_.late_trainers() : std::vector<int>();
}

void Server::give_up_after(std::chrono::seconds deadline) {
    if (deadline.count() == 0) return;
    const auto late = missing_trainers();
    const auto then = std::chrono::steady_clock::now() - deadline;
    bool does_one_wait = false;
    for (std::size_t trainer = 0; trainer < trainers_.count(); ++trainer) {
        // A late trainer may itself be waiting: it requests the rows of its next step while it computes this
        // one.
        const bool is_late_itself = std::ranges::find(late, static_cast<int>(trainer)) != late.end();
        does_one_wait |= !is_late_itself && waiting_.waits_since(trainer, then);
    }
    if (late.empty() || !does_one_wait) return;
    std::vector<std::string> missing;
    for (const int trainer : late) missing.push_back(trainers_.name(static_cast<std::size_t>(trainer)));
    broken_ = fmt::format("waited {} s in vain for the gradients of {}", deadline.count(),
                          fmt::join(missing, ", "));
    report_failure(broken_);
    refuse_waiting();
}

void Server::report_end(std::string_view why) {
    for (const auto trainer : trainers_.reachable()) reply(trainer, {.kind = MessageKind::failed}, why);
}

}  // namespace dtrain::ps
