// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ps/server/layout_difference.hpp"

namespace dtrain::ps {

Server::Server(ServerOptions options, DensePart dense, std::vector<ServerTable> tables, comm::Post& post)
    : options_(std::move(options)),
      dense_(std::move(dense)),
      team_(options_.table_threads),
      post_(&post),
      steps_(options_.first_step),
      save_(post) {
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
    if (found == trainers_.end()) throw LetterError(fmt::format("rank {} is no trainer of this job", rank));
    return static_cast<std::size_t>(found - trainers_.begin());
}

void Server::take(comm::Letter&& letter) {
    const int from = letter.from;
    LetterHead head;
    try {
        const LetterReader reader(letter.content.bytes());
        head = reader.head();
        const auto trainer = trainer_of(letter.from);
        if (!broken_.empty() && head.kind != LetterKind::abandon) throw LetterError(broken_);
        switch (head.kind) {
            case LetterKind::hello:
                return greet(trainer, reader);
            case LetterKind::push:
                return push(trainer, std::move(letter));
            case LetterKind::pull:
                return pull(trainer, std::move(letter));
            case LetterKind::day:
                present(trainer, head);
                check_day(reader);
                return answer_when_due(trainer, std::move(letter));
            case LetterKind::count:
                present(trainer, head);
                return reply(trainer, {.kind = LetterKind::counted, .request = head.request},
                             on_count_ ? on_count_() : "");
            case LetterKind::sizes:
                present(trainer, head);
                return tell_sizes(trainer, head);
            case LetterKind::save:
                present(trainer, head);
                return answer_when_due(trainer, std::move(letter));
            case LetterKind::idle:
                return pass_step(trainer, head);
            case LetterKind::leave:
                return leave(trainer, head);
            case LetterKind::abandon:
                return note_abandoned(trainer);
            default:
                throw LetterError(fmt::format("a server gets no '{}'", to_string(head.kind)));
        }
    } catch (const Error& refused) {
        ++counts_.refused;
        tell_failure(refused.what());
        send_letter(*post_, from, {.kind = LetterKind::failed, .request = head.request}, refused.what());
        if (!broken_.empty()) refuse_waiting();
    }
}

Server::Trainer& Server::present(std::size_t trainer, const LetterHead& head) {
    auto& known = trainers_[trainer];
    if (known.presence != Presence::here)
        throw LetterError(fmt::format("a '{}' of trainer {}, which has {}", to_string(head.kind), trainer,
                                      known.presence == Presence::gone ? "left" : "not said hello"));
    return known;
}

void Server::greet(std::size_t trainer, const LetterReader& reader) {
    auto& known = trainers_[trainer];
    if (known.presence != Presence::expected)
        throw LetterError(fmt::format("a second 'hello' of trainer {}", trainer));
    if (const auto difference = layout_difference(options_.layout, reader.text()))
        throw LetterError(*difference);
    known.presence = Presence::here;
    reply_with_sizes(trainer,
                     {.kind = LetterKind::welcome, .step = steps_, .request = reader.head().request});
}

void Server::push(std::size_t trainer, comm::Letter&& letter) {
    const LetterReader reader(letter.content.bytes());
    const auto head = reader.head();
    auto& known = present(trainer, head);
    check_push(reader);
    ++counts_.pushes;
    known.step.push_back(std::move(letter));
    if (head.steps == 0) return;
    if (options_.mode != ServerMode::sync) {
        apply_step_of(trainer, head);
    } else {
        known.ended_steps.push_back(std::exchange(known.step, {}));
        ++known.ended;
        apply_common_steps();
    }
    answer_waiting();
}

void Server::pass_step(std::size_t trainer, const LetterHead& head) {
    auto& known = present(trainer, head);
    if (!known.step.empty())
        throw LetterError(fmt::format("an 'idle' of trainer {} within a step of its own", trainer));
    ++known.ended;
    if (options_.mode == ServerMode::sync) {
        known.ended_steps.emplace_back();
        apply_common_steps();
    }
    answer_waiting();
}

void Server::apply_step_of(std::size_t trainer, const LetterHead& last) {
    auto& known = trainers_[trainer];
    auto letters = std::exchange(known.step, {});
    const Timed timed(load_.updates);
    known.ended += last.steps;
    dense_.clear_gradient(0);
    take_gradients(0, letters);
    update(last.steps);
    recycle(letters);
    reply_with_sizes(trainer, {.kind = LetterKind::applied, .step = steps_, .request = last.request});
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
        // Part of a step is in the parameters: nothing of them is given away any more.
        broken_ = failed.what();
        throw;
    }
}

void Server::recycle(std::vector<comm::Letter>& letters) {
    for (auto& letter : letters) post_->recycle(std::move(letter.content));
}

void Server::pull(std::size_t trainer, comm::Letter&& letter) {
    const LetterReader reader(letter.content.bytes());
    const auto& known = present(trainer, reader.head());
    check_pull(reader, known.rank);
    ++counts_.pulls;
    answer_when_due(trainer, std::move(letter));
}

void Server::answer_when_due(std::size_t trainer, comm::Letter&& letter) {
    if (!is_due(LetterReader(letter.content.bytes()).head())) {
        trainers_[trainer].waiting.push_back({std::move(letter), std::chrono::steady_clock::now()});
        load_.most_waiting = std::max(load_.most_waiting, waiting_pulls());
        return;
    }
    answer(trainer, letter);
    post_->recycle(std::move(letter.content));
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
        for (const auto& [letter, since] : std::exchange(trainers_[trainer].waiting, {}))
            reply(
                trainer,
                {.kind = LetterKind::failed, .request = LetterReader(letter.content.bytes()).head().request},
                broken_);
    for (const auto& [trainer, asked] : std::exchange(waiting_for_turn_, {}))
        reply(trainer, {.kind = LetterKind::failed, .request = asked.request}, broken_);
}

bool Server::go_on_answering() {
    if (!std::exchange(may_be_due_, false)) return false;
    for (std::size_t trainer = 0; trainer < trainers_.size(); ++trainer) {
        auto& waiting = trainers_[trainer].waiting;
        const auto due = std::ranges::find_if(waiting, [this](const WaitingPull& pull) {
            return is_due(LetterReader(pull.letter.content.bytes()).head());
        });
        if (due == waiting.end()) continue;
        may_be_due_ = true;
        auto letter = std::move(due->letter);
        waiting.erase(due);
        answer(trainer, letter);
        post_->recycle(std::move(letter.content));
        if (!broken_.empty()) refuse_waiting();
    }
    return may_be_due_;
}

void Server::answer(std::size_t trainer, const comm::Letter& asked) {
    const LetterReader reader(asked.content.bytes());
    try {
        if (reader.head().kind == LetterKind::save) {
            bring_dense();
            if (!save_.begin(asked)) ++counts_.refused;
        } else if (reader.head().kind == LetterKind::day) {
            begin_day(trainer, reader);
        } else {
            give_values(trainer, reader);
        }
    } catch (const Error& refused) {
        ++counts_.refused;
        tell_failure(refused.what());
        const bool is_full = dynamic_cast<const DictSizeError*>(&refused) != nullptr;
        reply(trainer,
              {.kind = LetterKind::failed, .steps = is_full ? 1U : 0U, .request = reader.head().request},
              refused.what());
    }
}

void Server::leave(std::size_t trainer, const LetterHead& head) {
    auto& known = present(trainer, head);
    known.presence = Presence::gone;
    save_.forget(known.rank);
    known.waiting.clear();
    std::erase_if(waiting_for_turn_, [&](const auto& waiting) { return waiting.trainer == trainer; });
    give_turn_back(trainer);
    recycle(known.step);
    known.step.clear();
    if (options_.mode == ServerMode::sync) apply_common_steps();
    reply(trainer, {.kind = LetterKind::farewell, .step = steps_, .request = head.request});
    answer_waiting();
}

void Server::reply(std::size_t trainer, const LetterHead& head, std::string_view text) {
    send_letter(*post_, trainers_[trainer].rank, head, text);
}

bool Server::is_done() const {
    return std::ranges::all_of(trainers_,
                               [](const Trainer& each) { return each.presence == Presence::gone; });
}

ServerLoad Server::take_load() {
    counts_.answers += load_.answers;
    counts_.updates += load_.updates;
    return std::exchange(load_, {.most_waiting = waiting_pulls()});
}

bool Server::work_ahead() {
    return std::ranges::any_of(tables_, [](SparseTable& table) { return table.settle(); });
}

}  // namespace dtrain::ps
