// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/job_file.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain::native {
namespace {

constexpr std::int64_t most_whole = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_size = std::int64_t{1} << 24;

struct Range {
    double least;
    double below;
    const char* allowed;
};
constexpr Range positive{1e-30, 1e30, "a number above 0 and below 1e30"};
constexpr Range fraction{0, 1, "a number from 0 to below 1"};

/// One table of the job file. Every reading function takes the key's default, and complains with file, line,
/// key, value and what is allowed.
class Section {
  public:
    Section(const toml::table& table, std::string file, std::string name, std::vector<std::string> known)
        : table_(table), file_(std::move(file)), name_(std::move(name)), known_(std::move(known)) {
        refuse_unknown_keys();
    }

    bool has(std::string_view key) const { return table_.contains(key); }

    std::string text(std::string_view key, std::string otherwise) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        const auto value = node->value_exact<std::string>();
        if (!value || value->empty()) refuse(key, *node, "a text in quotes that is not empty");
        if (one_line(*value, value->size() * 4) != *value)
            refuse(key, *node, "a text without control characters");
        return *value;
    }

    std::string one_of(std::string_view key, std::string otherwise,
                       const std::vector<std::string>& allowed) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        const auto value = node->value_exact<std::string>();
        for (const auto& word : allowed)
            if (value == word) return word;
        const auto near = value ? nearest(*value, allowed) : std::nullopt;
        refuse(
            key, *node,
            "one of \"" + join(allowed, "\", \"") + "\"" + (near ? "; did you mean \"" + *near + "\"?" : ""));
    }

    std::int64_t whole(std::string_view key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        return whole_of(key, *node, least, most);
    }

    std::vector<std::int64_t> wholes(std::string_view key, std::vector<std::int64_t> otherwise,
                                     std::int64_t least, std::int64_t most) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        const auto* list = node->as_array();
        if (list == nullptr)
            refuse(key, *node, fmt::format("a list of whole numbers such as [128, 64], or [] for none"));
        std::vector<std::int64_t> out;
        for (const auto& element : *list) out.push_back(whole_of(key, element, least, most));
        return out;
    }

    bool truth(std::string_view key, bool otherwise) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        const auto value = node->value_exact<bool>();
        if (!value) refuse(key, *node, "true or false");
        return *value;
    }

    double number(std::string_view key, double otherwise, const Range& range) const {
        const auto* node = table_.get(key);
        if (node == nullptr) return otherwise;
        const auto value = node->is_number() ? node->value<double>() : std::nullopt;
        if (!value || !(*value >= range.least && *value < range.below)) refuse(key, *node, range.allowed);
        return *value;
    }

    /// The table at `key`; an empty one when there is none.
    Section section(std::string_view key, std::vector<std::string> known) const {
        static const toml::table empty;
        const auto* node = table_.get(key);
        if (node != nullptr && !node->is_table()) refuse(key, *node, "a table");
        const auto inner = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
        return {node == nullptr ? empty : *node->as_table(), file_, inner, std::move(known)};
    }

    [[noreturn]] void fail(std::string_view key, const std::string& what) const {
        const auto* node = table_.get(key);
        const auto line = node != nullptr ? node->source().begin.line : table_.source().begin.line;
        throw UsageError(line == 0 ? fmt::format("{}: {}", file_, what)
                                   : fmt::format("{}:{}: {}", file_, line, what));
    }

  private:
    void refuse_unknown_keys() const {
        const toml::key* first = nullptr;
        for (const auto& [key, value] : table_) {
            bool is_known = false;
            for (const auto& word : known_) is_known = is_known || word == key.str();
            if (!is_known && (first == nullptr || key.source().begin.line < first->source().begin.line))
                first = &key;
        }
        if (first == nullptr) return;
        const auto near = nearest(first->str(), known_);
        const auto where = name_.empty() ? std::string("at the top") : "in [" + name_ + "]";
        throw UsageError(
            fmt::format("{}:{}: unknown key '{}' {}; {}", file_, first->source().begin.line, first->str(),
                        where, near ? "did you mean '" + *near + "'?" : "known are " + join(known_, ", ")));
    }

    std::int64_t whole_of(std::string_view key, const toml::node& node, std::int64_t least,
                          std::int64_t most) const {
        const auto value = node.value_exact<std::int64_t>();
        if (!value || *value < least || *value > most)
            refuse(key, node,
                   most == most_whole ? fmt::format("a whole number, {} or more", least)
                                      : fmt::format("a whole number in {}..{}", least, most));
        return *value;
    }

    [[noreturn]] void refuse(std::string_view key, const toml::node& node, const std::string& allowed) const {
        std::ostringstream value;
        value << toml::toml_formatter(node, toml::format_flags::none);
        auto text = value.str();
        for (auto& letter : text)
            if (letter == '\n') letter = ' ';
        throw UsageError(fmt::format("{}:{}: {}{} = {}: it must be {}", file_, node.source().begin.line,
                                     name_.empty() ? "" : "[" + name_ + "] ", key, text, allowed));
    }

    const toml::table& table_;
    std::string file_;
    std::string name_;
    std::vector<std::string> known_;
};

Optimizer read_optimizer(const Section& train) {
    const auto name = train.one_of("optimizer", "adam", {"adam", "momentum", "sgd"});
    const auto only_for = [&](const std::string& owner, const std::vector<std::string>& keys) {
        for (const auto& key : keys)
            if (name != owner && train.has(key))
                train.fail(key, fmt::format("'{}' is a setting of optimizer = \"{}\", but it is \"{}\"", key,
                                            owner, name));
    };
    only_for("adam", {"beta1", "beta2", "epsilon"});
    only_for("momentum", {"momentum"});
    if (name == "sgd") return Sgd{train.number("learning_rate", Sgd{}.learning_rate, positive)};
    if (name == "momentum") {
        Momentum momentum;
        momentum.learning_rate = train.number("learning_rate", momentum.learning_rate, positive);
        momentum.mu = train.number("momentum", momentum.mu, fraction);
        return momentum;
    }
    Adam adam;
    adam.learning_rate = train.number("learning_rate", adam.learning_rate, positive);
    adam.beta1 = train.number("beta1", adam.beta1, fraction);
    adam.beta2 = train.number("beta2", adam.beta2, fraction);
    adam.epsilon = train.number("epsilon", adam.epsilon, positive);
    return adam;
}

DatasetSource read_source(const Section& source, const std::filesystem::path& folder, float scale) {
    if (!source.has("file")) source.fail("file", "a data set needs its 'file'");
    return {folder / source.text("file", ""), source.text("x", "x"), source.text("y", "y"), scale};
}

}  // namespace

Job parse_job(std::string_view text, const std::filesystem::path& file) {
    const auto name = file.string();
    toml::table root;
    try {
        root = toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        throw UsageError(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
    }
    const Section top(root, name, "", {"title", "model", "data", "train", "checkpoint"});
    Job job;
    job.title = top.text("title", file.stem().string());

    const auto model = top.section("model", {"hidden", "activation"});
    job.model.hidden = model.wholes("hidden", job.model.hidden, 1, most_size);
    job.model.activation = model.one_of("activation", job.model.activation, {"relu", "tanh", "sigmoid"});

    const auto data = top.section("data", {"train", "test", "scale"});
    const auto scale =
        static_cast<float>(data.number("scale", 1, {1e-30, 1e30, "a number from 1e-30 to below 1e30"}));
    if (!data.has("train"))
        data.fail("train",
                  "[data] needs train = { file = \"...h5\", x = \"...\", y = \"...\" }: what to train on");
    job.train_data = read_source(data.section("train", {"file", "x", "y"}), file.parent_path(), scale);
    if (data.has("test"))
        job.test_data = read_source(data.section("test", {"file", "x", "y"}), file.parent_path(), scale);

    const auto train = top.section("train", {"epochs", "batch", "global_batch", "seed", "optimizer",
                                             "learning_rate", "momentum", "beta1", "beta2", "epsilon"});
    job.train.epochs = train.whole("epochs", job.train.epochs, 1, most_whole);
    job.train.batch = train.whole("batch", job.train.batch, 1, most_size);
    if (train.has("global_batch")) {
        if (train.has("batch"))
            train.fail("batch", "'batch' (per rank) and 'global_batch' (of all ranks) exclude each other");
        job.train.global_batch = train.whole("global_batch", 0, 1, most_size);
    }
    job.train.seed = static_cast<std::uint64_t>(train.whole("seed", 0, 0, most_whole));
    job.train.optimizer = read_optimizer(train);

    const auto checkpoint =
        top.section("checkpoint", {"dir", "every", "every_steps", "keep", "async", "format", "shards"});
    if (checkpoint.has("dir")) job.checkpoint.dir = checkpoint.text("dir", "");
    if (checkpoint.has("every_steps")) {
        job.checkpoint.every_steps = checkpoint.whole("every_steps", 1, 1, most_whole);
        job.checkpoint.every = std::nullopt;
    }
    if (checkpoint.has("every")) job.checkpoint.every = checkpoint.whole("every", 1, 1, most_whole);
    job.checkpoint.async = checkpoint.truth("async", job.checkpoint.async);
    if (checkpoint.one_of("format", "directory", {"directory", "file"}) == "file") {
        job.checkpoint.format = CheckpointFormat::file;
        if (checkpoint.has("shards"))
            checkpoint.fail("shards", "'shards' is a setting of format = \"directory\", but it is \"file\"");
    }
    if (checkpoint.has("shards"))
        job.checkpoint.shards = static_cast<int>(checkpoint.whole("shards", 1, 1, 1'000'000));
    job.checkpoint.keep = static_cast<int>(checkpoint.whole("keep", job.checkpoint.keep, 1, 1'000'000));
    return job;
}

Job read_job(const std::filesystem::path& file) {
    errno = 0;
    const auto text = std::filesystem::is_directory(file) ? std::nullopt : read_file(file);
    if (!text)
        throw UsageError(fmt::format("cannot read the job file {}: {}", file.string(),
                                     errno != 0 ? std::strerror(errno) : "it is a folder"));
    return parse_job(*text, file);
}

std::string name_of(const Optimizer& optimizer) {
    static constexpr std::array names{"sgd", "momentum", "adam", "adagrad", "adamw", "ftrl"};
    static_assert(names.size() == std::variant_size_v<Optimizer>);
    return names[optimizer.index()];
}

double learning_rate_of(const Optimizer& optimizer) {
    return std::visit([](const auto& settings) { return settings.learning_rate; }, optimizer);
}

}  // namespace dtrain::native
