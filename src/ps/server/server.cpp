// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ps/server/layout_difference.hpp"

namespace dtrain::ps {

Server::Server(ServerOptions options, DensePart dense, std::vector<ServerTable> tables,
               comm::Transport& transport)
    : options_(std::move(options)),
      dense_(std::move(dense)),
      team_(options_.table_threads),
      transport_(&transport),
      steps_(options_.first_step),
      save_(transport) {
    for (auto& table : tables) {
        batches_.emplace_back(table.table.options());
        tables_.push_back(std::move(table.table));
        tables_.back().work_with(&team_);
        learning_rates_.push_back(std::move(table.learning_rate));
    }
    for (const int rank : options_.trainers) {
        trainers_.emplace_back().rank = rank;
        trainers_.back().ended = options_.mode == ServerMode::sync ? steps_ : 0;
    }
}

std::size_t Server::trainer_of(int rank) const {
    const auto found = std::ranges::find(trainers_, rank, &Trainer::rank);
    if (found == trainers_.end()) throw MessageError(fmt::format("rank {} is no trainer of this job", rank));
    return static_cast<std::size_t>(found - trainers_.begin());
}

void Server::take(comm::Message&& message) {
    const int from = message.from;
    MessageHeader header;
    try {
        const MessageReader reader(message.content.bytes());
        header = reader.header();
        const auto trainer = trainer_of(message.from);
        if (!broken_.empty() && header.kind != MessageKind::abandon) throw MessageError(broken_);
        switch (header.kind) {
            case MessageKind::join:
                return greet(trainer, reader);
            case MessageKind::push:
                return push(trainer, std::move(message));
            case MessageKind::pull:
                return pull(trainer, std::move(message));
            case MessageKind::day:
                present(trainer, header);
                check_day(reader);
                return answer_when_due(trainer, std::move(message));
            case MessageKind::count:
                present(trainer, header);
                return reply(trainer, {.kind = MessageKind::counted, .request = header.request},
                             on_count_ ? on_count_() : "");
            case MessageKind::sizes:
                present(trainer, header);
                return report_sizes(trainer, header);
            case MessageKind::save:
                present(trainer, header);
                return answer_when_due(trainer, std::move(message));
            case MessageKind::idle:
                return pass_step(trainer, header);
            case MessageKind::leave:
                return leave(trainer, header);
            case MessageKind::abandon:
                return note_abandoned(trainer);
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

Server::Trainer& Server::present(std::size_t trainer, const MessageHeader& header) {
    auto& known = trainers_[trainer];
    if (known.presence != Presence::here)
        throw MessageError(fmt::format("a '{}' of trainer {}, which has {}", to_string(header.kind), trainer,
                                       known.presence == Presence::gone ? "left" : "not joined"));
    return known;
}

void Server::greet(std::size_t trainer, const MessageReader& reader) {
    auto& known = trainers_[trainer];
    if (known.presence != Presence::expected)
        throw MessageError(fmt::format("a second 'join' of trainer {}", trainer));
    if (const auto difference = layout_difference(options_.layout, reader.text()))
        throw MessageError(*difference);
    known.presence = Presence::here;
    reply_with_sizes(trainer,
                     {.kind = MessageKind::accept, .step = steps_, .request = reader.header().request});
}

void Server::push(std::size_t trainer, comm::Message&& message) {
    const MessageReader reader(message.content.bytes());
    const auto header = reader.header();
    auto& known = present(trainer, header);
    check_push(reader);
    ++counts_.pushes;
    known.step.push_back(std::move(message));
    if (header.steps == 0) return;
    if (options_.mode != ServerMode::sync) {
        apply_step_of(trainer, header);
    } else {
        known.ended_steps.push_back(std::exchange(known.step, {}));
        ++known.ended;
        apply_common_steps();
    }
    answer_waiting();
}

void Server::pass_step(std::size_t trainer, const MessageHeader& header) {
    auto& known = present(trainer, header);
    if (!known.step.empty())
        throw MessageError(fmt::format("an 'idle' of trainer {} within a step of its own", trainer));
    ++known.ended;
    if (options_.mode == ServerMode::sync) {
        known.ended_steps.emplace_back();
        apply_common_steps();
    }
    answer_waiting();
}

void Server::apply_step_of(std::size_t trainer, const MessageHeader& last) {
    auto& known = trainers_[trainer];
    auto messages = std::exchange(known.step, {});
    const Timed timed(load_.updates);
    known.ended += last.steps;
    dense_.clear_gradient(0);
    take_gradients(0, messages);
    update(last.steps);
    recycle(messages);
    reply_with_sizes(trainer, {.kind = MessageKind::applied, .step = steps_, .request = last.request});
}

void Server::apply_common_steps() {
    const auto is_ready = [](const Trainer& trainer) {
        return trainer.presence == Presence::gone || !trainer.ended_steps.empty();
    };
    const auto has_ended = [](const Trainer& trainer) { return !trainer.ended_steps.empty(); };
    while (std::ranges::all_of(trainers_, is_ready) && std::ranges::any_of(trainers_, has_ended)) {
        const Timed timed(load_.updates);
        for (std::size_t number = 0; number < trainers_.size(); ++number) {
            const auto& steps = trainers_[number].ended_steps;
            dense_.clear_gradient(static_cast<int>(number));
            if (!steps.empty()) take_gradients(static_cast<int>(number), steps.front());
        }
        update();
        for (auto& trainer : trainers_) {
            if (trainer.ended_steps.empty()) continue;
            recycle(trainer.ended_steps.front());
            trainer.ended_steps.pop_front();
        }
    }
}

void Server::update(std::uint32_t steps) {
    try {
        dense_.update(steps);
        ++steps_;
        update_tables();
    } catch (const Error& failed) {
        // A step is only partly applied, so the parameters must not be read any more.
        broken_ = failed.what();
        throw;
    }
}

void Server::recycle(std::vector<comm::Message>& messages) {
    for (auto& message : messages) transport_->recycle(std::move(message.content));
}

void Server::pull(std::size_t trainer, comm::Message&& message) {
    const MessageReader reader(message.content.bytes());
    const auto& known = present(trainer, reader.header());
    check_pull(reader, known.rank);
    ++counts_.pulls;
    answer_when_due(trainer, std::move(message));
}

void Server::answer_when_due(std::size_t trainer, comm::Message&& message) {
    if (!is_due(MessageReader(message.content.bytes()).header())) {
        trainers_[trainer].waiting.push_back({std::move(message), std::chrono::steady_clock::now()});
        load_.max_waiting = std::max(load_.max_waiting, waiting_pulls());
        return;
    }
    answer(trainer, message);
    transport_->recycle(std::move(message.content));
    if (!broken_.empty()) refuse_waiting();
}

std::size_t Server::waiting_pulls() const {
    std::size_t pulls = 0;
    for (const auto& trainer : trainers_) pulls += trainer.waiting.size();
    return pulls;
}

void Server::answer_waiting() {
    if (!broken_.empty()) return refuse_waiting();
    may_be_due_ = true;
    go_on_answering();
}

void Server::refuse_waiting() {
    may_be_due_ = false;
    for (std::size_t trainer = 0; trainer < trainers_.size(); ++trainer)
        for (const auto& [message, since] : std::exchange(trainers_[trainer].waiting, {}))
            reply(trainer,
                  {.kind = MessageKind::failed,
                   .request = MessageReader(message.content.bytes()).header().request},
                  broken_);
    for (const auto& [trainer, asked] : std::exchange(waiting_for_turn_, {}))
        reply(trainer, {.kind = MessageKind::failed, .request = asked.request}, broken_);
}

bool Server::go_on_answering() {
    if (!std::exchange(may_be_due_, false)) return false;
    for (std::size_t trainer = 0; trainer < trainers_.size(); ++trainer) {
        auto& waiting = trainers_[trainer].waiting;
        const auto due = std::ranges::find_if(waiting, [this](const WaitingPull& pull) {
            return is_due(MessageReader(pull.message.content.bytes()).header());
        });
        if (due == waiting.end()) continue;
        may_be_due_ = true;
        auto message = std::move(due->message);
        waiting.erase(due);
        answer(trainer, message);
        transport_->recycle(std::move(message.content));
        if (!broken_.empty()) refuse_waiting();
    }
    return may_be_due_;
}

void Server::answer(std::size_t trainer, const comm::Message& asked) {
    const MessageReader reader(asked.content.bytes());
    try {
        if (reader.header().kind == MessageKind::save) {
            bring_dense();
            if (!save_.begin(asked)) ++counts_.refused;
        } else if (reader.header().kind == MessageKind::day) {
            begin_day(trainer, reader);
        } else {
            give_values(trainer, reader);
        }
    } catch (const Error& refused) {
        ++counts_.refused;
        report_failure(refused.what());
        const bool is_full = dynamic_cast<const DictSizeError*>(&refused) != nullptr;
        reply(trainer,
              {.kind = MessageKind::failed, .steps = is_full ? 1U : 0U, .request = reader.header().request},
              refused.what());
    }
}

void Server::leave(std::size_t trainer, const MessageHeader& header) {
    auto& known = present(trainer, header);
    known.presence = Presence::gone;
    save_.forget(known.rank);
    known.waiting.clear();
    std::erase_if(waiting_for_turn_, [&](const auto& waiting) { return waiting.trainer == trainer; });
    give_turn_back(trainer);
    recycle(known.step);
    known.step.clear();
    if (options_.mode == ServerMode::sync) apply_common_steps();
    reply(trainer, {.kind = MessageKind::farewell, .step = steps_, .request = header.request});
    answer_waiting();
}

void Server::reply(std::size_t trainer, const MessageHeader& header, std::string_view text) {
    send_message(*transport_, trainers_[trainer].rank, header, text);
}

bool Server::is_done() const {
    return std::ranges::all_of(trainers_,
                               [](const Trainer& each) { return each.presence == Presence::gone; });
}

ServerLoad Server::take_load() {
    counts_.answers += load_.answers;
    counts_.updates += load_.updates;
    return std::exchange(load_, {.max_waiting = waiting_pulls()});
}

bool Server::work_ahead() {
    return std::ranges::any_of(tables_, [](SparseTable& table) { return table.settle(); });
}

}  // namespace dtrain::ps
