// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Client: requests to all servers between steps.
#include <utility>

#include "ps/client/client.hpp"

namespace dtrain::ps {

std::uint64_t Client::begin_day(std::uint32_t day, bool shrinks) {
    std::uint64_t gone = 0;
    const auto write = [&](int /*server*/, MessageWriter& writer) { writer.add_day(day, shrinks); };
    const auto read = [&](int /*server*/, const MessageReader& reader) {
        gone += static_cast<std::uint64_t>(reader.header().step);
    };
    ask_all({.kind = MessageKind::day, .step = steps_}, write, read);
    return gone;
}

std::vector<std::string> Client::counts() {
    std::vector<std::string> texts;
    ask_all({.kind = MessageKind::count}, {},
            [&](int /*server*/, const MessageReader& reader) { texts.emplace_back(reader.text()); });
    return texts;
}

std::vector<std::uint64_t> Client::send_all(MessageHeader header,
                                            const std::function<void(int, MessageWriter&)>& write) {
    std::vector<std::uint64_t> requests;
    for (int server = 0; server < servers(); ++server) {
        header.request = requests.emplace_back(expect(server, header.kind));
        MessageWriter writer(*transport_, header);
        if (write) write(server, writer);
        writer.send(options_.servers[static_cast<std::size_t>(server)]);
    }
    return requests;
}

void Client::ask_all(const MessageHeader& header, const std::function<void(int, MessageWriter&)>& write,
                     const std::function<void(int, const MessageReader&)>& read) {
    const auto requests = send_all(header, write);
    const std::string what(to_string(header.kind));
    for (int server = 0; server < servers(); ++server) {
        const auto request = requests[static_cast<std::size_t>(server)];
        const auto& answer = wait_for(request, what.c_str());
        if (read) read(server, MessageReader(answer.bytes()));
        forget(request);
    }
}

}  // namespace dtrain::ps
