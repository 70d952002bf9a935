// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: ClickLog::read() of the same text, and what it gathers for the batches of DistributedSampler; the
// file system, which knows whether a file is the one that was there.
#include <future>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "data/click_batches.hpp"
#include "data/click_cache.hpp"
#include "data/click_cache_file.hpp"
#include "storage/block_io.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

constexpr ClickColumns columns{2, 3};  // 36 bytes a sample, 1820 samples a block

std::string lines(std::int64_t count, std::uint64_t seed = 0) {
    std::string text;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto random = mixed(seed + static_cast<std::uint64_t>(i));
        text += fmt::format("{}\t{}\t\t{:x}\t{:x}\t{:x}\n", random % 2, random % 1000, random % 7,
                            random % 997, random);
    }
    return text;
}

class ClickCache : public testing::Test {
  protected:
    PreparedCache prepare(const ClickLayout& layout = columns) {
        CacheWatch watch;
        return prepare_click_cache(log, layout, caches, watch);
    }
    std::string refusal(const ClickLayout& layout = columns) {
        const auto message = message_of([&] { prepare(layout); });
        const auto prefix = folder.path().string() + "/";
        return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
    }
    std::vector<std::string> made_files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(caches))
            if (entry.path().extension() != ".lock") names.push_back(entry.path().filename().string());
        return names;
    }

    const tests::TemporaryFolder folder;
    const std::filesystem::path log = folder / "c.tsv";
    const std::filesystem::path caches = folder / "caches/of clicks";
};

struct Batches {
    std::vector<float> dense;
    std::vector<std::int64_t> ids;
    std::vector<float> labels;
    std::vector<float> weights;
    friend bool operator==(const Batches&, const Batches&) = default;
};

template <class Value>
void append_to(std::vector<Value>& all, std::span<const Value> more) {
    all.insert(all.end(), more.begin(), more.end());
}

Batches expected(const ClickLog& log, const DistributedSampler::Options& sampling, std::int64_t epoch,
                 std::int64_t first) {
    Batches out;
    DistributedSampler sampler(sampling);
    sampler.start_epoch(epoch);
    const auto rows = static_cast<std::size_t>(sampler.local_batch());
    Batches one{std::vector<float>(rows * static_cast<std::size_t>(log.integers)),
                std::vector<std::int64_t>(rows * static_cast<std::size_t>(log.slots)),
                std::vector<float>(rows),
                {}};
    for (auto number = first; number < sampler.batches(); ++number) {
        const auto batch = sampler.batch(number);
        log.gather(batch.samples, one.dense, one.ids, one.labels);
        append_to<float>(out.dense, one.dense);
        append_to<std::int64_t>(out.ids, one.ids);
        append_to<float>(out.labels, one.labels);
        append_to(out.weights, batch.weights);
    }
    return out;
}

/// Of `count` batches from `first` on.
Batches taken(ClickBatches& batches, std::int64_t epoch, std::int64_t first, std::int64_t count) {
    Batches out;
    batches.start(epoch, first);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto batch = batches.next();
        append_to(out.dense, batch.dense);
        append_to(out.ids, batch.ids);
        append_to(out.labels, batch.labels);
        append_to(out.weights, batch.weights);
        const std::vector<std::int64_t> ids(batch.ids.begin(), batch.ids.end());
        const auto coming = batches.await_next();
        EXPECT_EQ(coming.has_value(), i + 1 < count);
        EXPECT_THAT(batch.ids, testing::ElementsAreArray(ids)) << "looking ahead leaves a batch alone";
    }
    return out;
}

TEST_F(ClickCache, HasTheLogAndItsFingerprint) {
    for (const std::int64_t count : {1, 2, 1819, 1820, 1821, 3640, 5003}) {
        tests::write_bytes(log, lines(count));
        const auto whole = ClickLog::read(log, columns);
        const auto cache = prepare();
        EXPECT_EQ(cache.file.parent_path(), caches);
        EXPECT_THAT(cache.file.filename().string(), StartsWith("c.tsv-"));
        const ClickCacheFile file(cache.file);
        EXPECT_EQ(file.info().fingerprint, whole.fingerprint()) << count;
        EXPECT_EQ(file.bytes(), static_cast<std::int64_t>(std::filesystem::file_size(cache.file)));
        ClickLog found{.integers = file.info().integers, .slots = file.info().slots};
        ClickBlock block;
        for (std::int64_t i = 0; i < file.blocks(); ++i) {
            file.read(i, block);
            EXPECT_EQ(block.first(), found.size());
            append_to(found.ids, block.ids());
            append_to(found.dense, block.dense());
            append_to(found.labels, block.labels());
        }
        EXPECT_EQ(found, whole) << count;
    }
}

TEST_F(ClickCache, OfEveryFormat) {
    const std::vector<std::pair<std::string, ClickLayout>> logs{
        {"1\t\t\ta\tb\tc\n0\t1\t2\t\t\t\n0\t1\t2\t\t\t\n", columns},
        {"click,ad,age\n1,7,3\n0,,\n", CsvClickColumns{.numbers = {{"age"}}}},
        {"1 3:1 9:1\n-1 4:1 9:1\n-1 4:1 8:1\n", SvmlightClickColumns{}},
        {"1 1:0.5 9:1\n", SvmlightClickColumns{.numbers = 1, .slot_ids = {5, 8}}}};
    for (const auto& [text, layout] : logs) {
        tests::write_bytes(log, text);
        const auto whole = ClickLog::read(log, layout);
        const ClickCacheFile file(prepare(layout).file);
        EXPECT_EQ(file.info().fingerprint, whole.fingerprint()) << text;
        EXPECT_EQ(file.info().samples, whole.size()) << text;
    }
}

TEST_F(ClickCache, GivesTheBatchesOfTheLogInMemory) {
    tests::write_bytes(log, lines(5003));
    const auto whole = ClickLog::read(log, columns);
    const auto file = std::make_shared<const ClickCacheFile>(prepare().file);
    for (const std::int64_t memory : {1, 20'000, 60'000, 10'000'000})
        for (const auto& [rank, ranks, parts] :
             {std::tuple(0, 1, 1), std::tuple(2, 3, 1), std::tuple(1, 4, 3)})
            for (const auto order : {SampleOrder::shuffled, SampleOrder::sequential}) {
                const DistributedSampler::Options sampling{.samples = 5003,
                                                           .global_batch = 64,
                                                           .rank = rank,
                                                           .ranks = ranks,
                                                           .seed = 5,
                                                           .order = order,
                                                           .last_batch = LastBatch::random,
                                                           .parts = parts};
                ClickBatches batches(file, sampling, memory, {});
                const auto all = DistributedSampler(sampling).batches();
                // Of two batches, and of half the epoch where all fit.
                EXPECT_EQ(batches.batches_at_once() == 1, memory < 20'000);
                EXPECT_EQ(batches.batches_at_once() == (all + 1) / 2, memory == 10'000'000);
                for (const std::int64_t epoch : {0, 3, 1})
                    for (const std::int64_t first : {std::int64_t{0}, all / 3, all - 1})
                        EXPECT_EQ(taken(batches, epoch, first, all - first),
                                  expected(whole, sampling, epoch, first))
                            << "memory " << memory << ", rank " << rank << ", epoch " << epoch << " from "
                            << first;
            }
}

TEST_F(ClickCache, AnEpochThatIsLeftEarlyDoesNotDisturbTheNext) {
    tests::write_bytes(log, lines(5003));
    const auto whole = ClickLog::read(log, columns);
    const auto file = std::make_shared<const ClickCacheFile>(prepare().file);
    const DistributedSampler::Options sampling{.samples = 5003, .global_batch = 10, .seed = 5};
    ClickBatches batches(file, sampling, 20'000, {});
    for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
        batches.start(epoch, epoch);
        for (std::int64_t i = 0; i < 7 * epoch; ++i) batches.next();
    }
    EXPECT_EQ(taken(batches, 1, 17, 501 - 17), expected(whole, sampling, 1, 17));
    EXPECT_THAT(message_of<Error>([&] { batches.next(); }), HasSubstr("an epoch has no batch 501"));
}

TEST_F(ClickCache, IdsAreTranslated) {
    tests::write_bytes(log, lines(2000));
    auto whole = ClickLog::read(log, columns);
    for (auto& id : whole.ids) id = id % 1000 + 5;
    const auto file = std::make_shared<const ClickCacheFile>(prepare().file);
    const DistributedSampler::Options sampling{.samples = 2000, .global_batch = 64};
    ClickBatches batches(file, sampling, 10'000, [](std::span<std::int64_t> ids) {
        for (auto& id : ids) id = id % 1000 + 5;
    });
    EXPECT_EQ(taken(batches, 2, 0, 32), expected(whole, sampling, 2, 0));
}

TEST_F(ClickCache, IsTakenAgainWhileTheLogIsTheSame) {
    tests::write_bytes(log, lines(4000));
    const auto first = prepare();
    EXPECT_TRUE(first.is_new);
    EXPECT_FALSE(first.flaw);
    const auto bytes = tests::bytes_of(first.file);
    const auto written = std::filesystem::last_write_time(first.file);
    const auto again = prepare();
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(again.file, first.file);
    EXPECT_EQ(std::filesystem::last_write_time(first.file), written);
    EXPECT_EQ(tests::bytes_of(first.file), bytes);

    // The same size at another time, another size, other columns.
    const auto time = std::filesystem::last_write_time(log);
    tests::write_bytes(log, lines(4000));
    std::filesystem::last_write_time(log, time + std::chrono::nanoseconds(1));
    auto changed = prepare();
    EXPECT_TRUE(changed.is_new);
    EXPECT_EQ(changed.flaw.value().what, "the log has changed");
    EXPECT_FALSE(changed.flaw->is_damage);
    tests::write_bytes(log, lines(4001));
    std::filesystem::last_write_time(log, time + std::chrono::nanoseconds(1));
    EXPECT_EQ(prepare().flaw.value().what, "the log has changed");
    EXPECT_EQ(ClickCacheFile(first.file).info().samples, 4001);
    changed = prepare(ClickColumns{1, 4});
    EXPECT_EQ(changed.flaw.value().what, "other columns of the log are read now");
    EXPECT_EQ(ClickCacheFile(first.file).info().slots, 4);
    EXPECT_FALSE(prepare(ClickColumns{1, 4}).is_new);
    EXPECT_THAT(made_files(), ElementsAre(first.file.filename().string()));
}

TEST_F(ClickCache, LogsOfOneNameHaveCachesOfTheirOwn) {
    EXPECT_NE(click_cache_of("/a/c.tsv", "x"), click_cache_of("/b/c.tsv", "x"));
    EXPECT_EQ(click_cache_of("/a/c.tsv", "x"), click_cache_of("/a/../a/c.tsv", "x"));
}

TEST_F(ClickCache, DamageIsToldAndMended) {
    tests::write_bytes(log, lines(4000));
    const auto file = prepare().file;
    const auto whole = tests::bytes_of(file);
    std::set<std::string> reasons;
    const auto check = [&](const std::string& damaged, const std::string& how) {
        tests::write_bytes(file, damaged);
        const auto repaired = prepare();
        ASSERT_TRUE(repaired.is_new && repaired.flaw && repaired.flaw->is_damage) << how;
        EXPECT_THAT(repaired.flaw->what, StartsWith(file.string() + ": ")) << how;
        reasons.insert(repaired.flaw->what.substr(file.string().size() + 2));
        EXPECT_EQ(tests::bytes_of(file), whole) << how;
    };
    for (std::size_t i = 0; i < 60; ++i) {
        auto flipped = whole;
        const auto position = mixed(i) % flipped.size();
        flipped[position] = static_cast<char>(flipped[position] ^ (1 << (i % 8)));
        check(flipped, fmt::format("byte {}", position));
        const auto length = mixed(i + 1000) % whole.size();
        check(whole.substr(0, length), fmt::format("{} bytes", length));
    }
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{5}, std::size_t{4095}, std::size_t{4096}, whole.size() - 1})
        check(whole.substr(0, length), fmt::format("{} bytes", length));
    check(whole + "x", "a byte more");
    auto swapped = whole;  // two whole blocks
    std::swap_ranges(swapped.begin() + 4096, swapped.begin() + 4096 + 1820 * 36 + 8,
                     swapped.begin() + 4096 + 1820 * 36 + 8);
    check(swapped, "two blocks in each other's place");
    for (const char* reason : {"samples 1 to 1820 are damaged", "samples 1821 to 3640 are damaged",
                               "this is no cache of a click log, or one of another version of dtrain",
                               "its beginning is cut off or damaged"})
        EXPECT_TRUE(reasons.contains(reason)) << reason;
}

/// The beginning of a cache with info of anybody's choice, and the checksum that belongs to them.
std::string head_with(std::string head, const std::string& key, const std::string& value) {
    const auto at = head.find(fmt::format("\"{}\":", key)) + key.size() + 3;
    head.replace(at, head.find_first_of(",}", at) - at, value);
    head.resize(4096 - 8);
    const auto sum = storage::xxh3(std::as_bytes(std::span(head)));
    head.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    return head;
}

// Whoever can write the folder can write a checksum, too.
TEST_F(ClickCache, FactsThatCannotBeAreDamage) {
    tests::write_bytes(log, lines(4000));
    const auto file = prepare().file;
    const auto whole = tests::bytes_of(file);
    const auto found_with = [&](const std::string& key, const std::string& value) {
        tests::write_bytes(file, head_with(whole.substr(0, 4096), key, value) + whole.substr(4096));
        const auto repaired = prepare();
        EXPECT_EQ(tests::bytes_of(file), whole) << key << " " << value;
        return repaired.flaw && repaired.flaw->is_damage
                   ? repaired.flaw->what.substr(file.string().size() + 2)
                   : "";
    };
    ASSERT_EQ(found_with("samples", "4000"), "");
    const auto* const no_beginning = "its beginning is cut off or damaged";
    for (const auto* value : {"-1", "-3", "4097", "9223372036854775807", "1e30", "\"2\"", "[]"})
        EXPECT_EQ(found_with("integers", value), no_beginning) << value;
    for (const auto* value : {"0", "-1", "4097", "-9223372036854775808", "null"})
        EXPECT_EQ(found_with("slots", value), no_beginning) << value;
    EXPECT_EQ(found_with("samples", "-4000"), no_beginning);
    EXPECT_THAT(found_with("samples", "9223372036854775807"),
                HasSubstr("which are not 9223372036854775807 samples"));
    EXPECT_THAT(found_with("samples", "3999"), HasSubstr("bytes instead of"));

    // Sums that are right, of columns that the job does not have: 4 numbers and 2 categories are as long as 2
    // and 3.
    tests::write_bytes(file, head_with(head_with(whole.substr(0, 4096), "integers", "4"), "slots", "2") +
                                 whole.substr(4096));
    EXPECT_EQ(message_of<DamagedCache>([&] { open_click_cache(log, columns, caches); }),
              file.string() + ": its samples have 4 numbers and 2 categories instead of 2 and 3");
    EXPECT_THAT(prepare().flaw.value().what, HasSubstr("its samples have 4 numbers and 2 categories"));
    EXPECT_EQ(tests::bytes_of(file), whole);
}

TEST_F(ClickCache, ABeginningWithoutAnEndIsDamage) {
    tests::write_bytes(log, lines(10));
    const auto file = prepare().file;
    auto head = tests::bytes_of(file).substr(0, 4096);
    const auto end = head.find('\0');
    head.replace(end, 4096 - 8 - end, std::string(4096 - 8 - end, ' '));
    head.resize(4096 - 8);
    const auto sum = storage::xxh3(std::as_bytes(std::span(head)));
    head.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    tests::write_bytes(file, head);
    EXPECT_THAT(message_of<DamagedCache>([&] { const ClickCacheFile cache(file); }), HasSubstr("4096 bytes"));
    head.replace(end - 1, 4096 - 8 - end + 1, std::string(4096 - 8 - end + 1, 'x'));
    head.resize(4096 - 8);
    const auto other = storage::xxh3(std::as_bytes(std::span(head)));
    head.append(reinterpret_cast<const char*>(&other), sizeof(other));
    tests::write_bytes(file, head);
    EXPECT_THAT(message_of<DamagedCache>([&] { const ClickCacheFile cache(file); }),
                HasSubstr("its beginning is cut off or damaged"));
}

TEST_F(ClickCache, DamageThatComesLaterIsFoundWhenItIsRead) {
    tests::write_bytes(log, lines(4000));
    const auto path = prepare().file;
    const auto file = std::make_shared<const ClickCacheFile>(path);
    auto bytes = tests::bytes_of(path);
    bytes[4096 + 2000 * 36] ^= 1;
    tests::write_bytes(path, bytes);
    ClickBatches batches(file, {.samples = 4000, .global_batch = 100, .order = SampleOrder::sequential},
                         20'000, {});
    batches.start(0, 0);
    const auto all = [&] {
        for (int i = 0; i < 40; ++i) batches.next();
    };
    EXPECT_EQ(message_of<DamagedCache>(all), path.string() + ": samples 1821 to 3640 are damaged");
    batches.start(0, 38);
    EXPECT_NO_THROW(batches.next()) << "of the block behind";
}

TEST_F(ClickCache, ABadLineNamesItsLocationAndLeavesNothing) {
    tests::write_bytes(log, lines(3000) + "1\t1\n" + lines(10));
    EXPECT_EQ(refusal(), "c.tsv:3001: 2 columns instead of 6: the label, 2 whole numbers, 3 categories");
    EXPECT_THAT(made_files(), ElementsAre());
    tests::write_bytes(log, "\n");
    EXPECT_EQ(refusal(), "c.tsv: there is no sample in it");
    std::filesystem::remove(log);
    EXPECT_EQ(refusal(), fmt::format("cannot read {}: No such file or directory", log.string()));
    EXPECT_THAT(made_files(), ElementsAre());
}

TEST_F(ClickCache, AFolderThatCannotBeWrittenIsToldBeforeTheLogIsRead) {
    tests::write_bytes(log, "no sample at all\n");
    tests::write_bytes(folder / "caches", "a file");
    EXPECT_EQ(refusal(), fmt::format("[data] cache: cannot write into {}: Not a directory", caches.string()));
}

TEST_F(ClickCache, WhatKilledMakersLeftIsRemoved) {
    tests::write_bytes(log, lines(10));
    std::filesystem::create_directories(caches);
    const auto file = click_cache_of(log, caches);
    tests::write_bytes(file.string() + ".12ab.tmp", "half of it");
    tests::write_bytes(caches / "another.tmp", "somebody else's");
    prepare();
    EXPECT_THAT(made_files(), testing::UnorderedElementsAre(file.filename().string(), "another.tmp"));
}

TEST_F(ClickCache, OfManyAtATimeOneMakesIt) {
    tests::write_bytes(log, lines(20'000));
    std::vector<std::future<PreparedCache>> makers;
    for (int i = 0; i < 6; ++i) makers.push_back(std::async(std::launch::async, [&] { return prepare(); }));
    int made = 0;
    for (auto& maker : makers) made += maker.get().is_new ? 1 : 0;
    EXPECT_EQ(made, 1);
    EXPECT_EQ(ClickCacheFile(click_cache_of(log, caches)).info().samples, 20'000);
}

TEST_F(ClickCache, OneThatAnotherJobHasMadeAnewIsNotOpened) {
    tests::write_bytes(log, lines(10));
    const auto opened = [&] { open_click_cache(log, columns, caches); };
    EXPECT_THAT(message_of(opened), HasSubstr("[data] cache: cannot open"));
    prepare();
    EXPECT_EQ(open_click_cache(log, columns, caches).info().samples, 10);
    const auto file = prepare(ClickColumns{1, 4}).file;
    EXPECT_EQ(message_of(opened),
              file.string() +
                  ": other columns of the log are read now; jobs that read other columns of a "
                  "log at the same time need a folder each");
}

TEST_F(ClickCache, GivesUpWhenItIsToldTo) {
    tests::write_bytes(log, lines(5000));
    CacheWatch watch;
    watch.stops = true;
    EXPECT_THROW(prepare_click_cache(log, columns, caches, watch), Error);
    EXPECT_THAT(made_files(), ElementsAre());
    watch.stops = false;
    prepare_click_cache(log, columns, caches, watch);
    EXPECT_EQ(watch.done, watch.all);
    EXPECT_EQ(watch.all, static_cast<std::int64_t>(std::filesystem::file_size(log)));
}

}  // namespace
}  // namespace dtrain::data
