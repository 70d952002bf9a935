// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a reader that takes 4096 bytes at once, as mpirun does, and the events that were written.
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "protocol/event_lines.hpp"
#include "worker/event_writer.hpp"

namespace dtrain::worker {
namespace {

using cluster::Event;

Event piece(std::size_t size) {
    return {.kind = Event::Kind::stacks, .host = "n1", .text = std::string(size, 's')};
}

TEST(EventWriter, EachReadOfMpirunTakesWholeLines) {
    auto pipe = Pipe::open();
    std::vector<Event> written;
    for (std::size_t size = 0; size < 100; ++size) written.push_back(piece(size * 5));
    std::jthread writer([&] {
        for (const auto& event : written) write_event(pipe.write_end.get(), event, std::chrono::minutes(1));
        pipe.write_end.reset();
    });
    std::vector<Event> read;
    cluster::EventReader reader;
    std::array<char, 4096> buffer;
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto got = ::read(pipe.read_end.get(), buffer.data(), buffer.size());
        if (got <= 0) break;
        const std::string_view taken(buffer.data(), static_cast<std::size_t>(got));
        EXPECT_EQ(taken.back(), '\n');
        for (const auto& line : split(taken, '\n'))
            if (const auto event = reader.take(line)) read.push_back(*event);
    }
    EXPECT_EQ(read, written);
}

TEST(EventWriter, AReaderThatStaysAwayDelaysAnEventByAMoment) {
    auto pipe = Pipe::open();
    for (int each = 0; each < 10; ++each) write_event(pipe.write_end.get(), piece(500));
    std::array<char, 16384> buffer;
    EXPECT_GT(::read(pipe.read_end.get(), buffer.data(), buffer.size()), 4096);
}

}  // namespace
}  // namespace dtrain::worker
