// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: making the servers save.
#include <algorithm>
#include <optional>

#include "ps/client/client.hpp"

namespace dtrain::ps {

void Client::begin_save(const std::string& request) {
    if (!saves_.empty()) throw Error("the servers are saving already");
    renew_sizes();
    saves_ = send_all({.kind = MessageKind::save, .step = steps_},
                      [&](int /*server*/, MessageWriter& writer) { writer.add_text(request); });
    bool is_refused = false;
    for (const auto save : saves_) {
        wait_until_begun(save);
        is_refused = is_refused || !answers_.at(save).is_begun;
    }
    if (is_refused) finish_save();
}

bool Client::is_saved() {
    progress();
    return have_come(saves_);
}

std::vector<std::string> Client::finish_save() {
    std::vector<std::string> said;
    std::optional<ServerError> refused;
    for (const auto save : saves_) {
        const MessageReader reader(wait_for(save, "save").bytes());
        said.emplace_back(reader.text());
        if (reader.header().kind == MessageKind::failed && !refused)
            refused.emplace(static_cast<int>(said.size()) - 1, said.back());
    }
    for (const auto save : saves_) forget(save);
    saves_.clear();
    if (refused) throw *refused;
    return said;
}

}  // namespace dtrain::ps
