// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/stacks_on_demand.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "worker/state_of_rank.hpp"

namespace dtrain::worker {
namespace {

using cluster::Event;

constexpr std::size_t max_sent = 32 * 1024;  // all ranks of a job may send that much at the same time

}  // namespace

StacksOnDemand::StacksOnDemand(std::filesystem::path file, mode_t mode, Environment environment,
                               bool send_text, std::filesystem::path operations)
    : file_(std::move(file)),
      mode_(mode),
      environment_(std::move(environment)),
      send_text_(send_text),
      operations_(std::move(operations)) {}

void StacksOnDemand::begin(pid_t guard, pid_t program, trace::RankState before) {
    if (collection_) return;
    before_ = std::move(before);
    collection_ = std::make_unique<StackCollection>(most_informative_first(guard, program), file_, mode_,
                                                    environment_, operations_);
}

std::vector<Event> StacksOnDemand::finish(const Event& blank) {
    auto where = collection_->finish();
    collection_.reset();
    std::vector<Event> events{blank};
    events.back().kind = Event::Kind::state;
    events.back().state = to_json(with_calls(std::move(before_), std::move(where)), cluster::max_event_state);
    if (send_text_)
        std::ranges::move(events_of_stacks(read_file(file_).value_or(""), blank), std::back_inserter(events));
    auto end = blank;
    end.kind = Event::Kind::stacks_end;
    end.text = file_.string();
    events.push_back(std::move(end));
    return events;
}

std::vector<Event> events_of_stacks(std::string_view text, const Event& blank) {
    text = text.substr(0, max_sent);
    std::vector<Event> events;
    while (!text.empty()) {
        auto size = std::min(text.size(), cluster::max_event_text);
        while (size < text.size() && size > 1 && continues_character(text[size])) --size;
        auto piece = blank;
        piece.kind = Event::Kind::stacks;
        piece.text = text.substr(0, size);
        events.push_back(std::move(piece));
        text.remove_prefix(size);
    }
    return events;
}

}  // namespace dtrain::worker
