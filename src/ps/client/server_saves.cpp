// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/client/server_saves.hpp"

#include <optional>

#include "ps/client/server_error.hpp"

namespace dtrain::ps {

void ServerSaves::begin(std::int64_t step, const std::string& request) {
    saves_ = channel_->send_all({.kind = MessageKind::save, .step = step},
                                [&](int /*server*/, MessageWriter& writer) { writer.add_text(request); });
    bool have_all_begun = true;
    for (const auto save : saves_) have_all_begun = channel_->wait_until_begun(save) && have_all_begun;
    if (!have_all_begun) finish();
}

std::vector<std::string> ServerSaves::finish() {
    std::vector<std::string> answers;
    std::optional<ServerError> refused;
    for (const auto save : saves_) {
        const auto answer = channel_->wait_for(save);
        answers.emplace_back(answer.text());
        if (answer.header().kind == MessageKind::failed && !refused)
            refused.emplace(static_cast<int>(answers.size()) - 1, answers.back());
    }
    for (const auto save : saves_) channel_->forget(save);
    saves_.clear();
    if (refused) throw *refused;
    return answers;
}

}  // namespace dtrain::ps
