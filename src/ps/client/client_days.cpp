// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What a Client asks of all servers between steps.
#include <utility>

#include "ps/client/client.hpp"

namespace dtrain::ps {

std::uint64_t Client::begin_day(std::uint32_t day, bool shrinks) {
    std::uint64_t gone = 0;
    const auto write = [&](LetterWriter& writer) { writer.add_day(day, shrinks); };
    const auto read = [&](const LetterReader& reader) {
        gone += static_cast<std::uint64_t>(reader.head().step);
    };
    ask_all({.kind = LetterKind::day, .step = steps_}, write, read);
    return gone;
}

std::vector<std::string> Client::counts() {
    std::vector<std::string> texts;
    const auto read = [&](const LetterReader& reader) { texts.emplace_back(reader.text()); };
    ask_all(
        {.kind = LetterKind::count}, [](LetterWriter&) {}, read);
    return texts;
}

void Client::ask_all(LetterHead head, const std::function<void(LetterWriter&)>& write,
                     const std::function<void(const LetterReader&)>& read) {
    std::vector<std::uint64_t> requests;
    for (int server = 0; server < servers(); ++server) {
        head.request = requests.emplace_back(expect(server));
        LetterWriter writer(*post_, head);
        write(writer);
        writer.send(options_.servers[static_cast<std::size_t>(server)]);
    }
    const std::string what(to_string(head.kind));
    for (const auto request : requests) {
        read(LetterReader(wait_for(request, what.c_str()).bytes()));
        forget(request);
    }
}

}  // namespace dtrain::ps
