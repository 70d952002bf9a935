// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any job file and any command line of a native job, checked on seeded inputs. Jobs
// come back from TOML that the test writes: JSON's texts, numbers and lists are TOML's, too.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "native/job_file.hpp"
#include "native/options.hpp"
#include "support/fuzz.hpp"

namespace dtrain::native {
namespace {

using tests::is_helpful;
using tests::Mutator;

std::string text(const std::string& value) {
    return nlohmann::json(value).dump();
}

std::string source(const Job& job, const DatasetSource& data) {
    if (job.model.kind == ModelKind::click_through)
        return fmt::format("{{ file = {} }}", text(data.file.string()));
    return fmt::format("{{ file = {}, x = {}, y = {} }}", text(data.file.string()), text(data.x),
                       text(data.y));
}

struct OptimizerToml {
    std::string operator()(const Sgd& sgd) const {
        return fmt::format("learning_rate = {}\n", sgd.learning_rate);
    }
    std::string operator()(const Momentum& momentum) const {
        return fmt::format("learning_rate = {}\nmomentum = {}\n", momentum.learning_rate, momentum.mu);
    }
    std::string operator()(const Adam& adam) const {
        return fmt::format("learning_rate = {}\nbeta1 = {}\nbeta2 = {}\nepsilon = {}\n", adam.learning_rate,
                           adam.beta1, adam.beta2, adam.epsilon);
    }
    std::string operator()(const AdamW& adam) const {
        return fmt::format("learning_rate = {}\nbeta1 = {}\nbeta2 = {}\nepsilon = {}\nweight_decay = {}\n",
                           adam.learning_rate, adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay);
    }
    std::string operator()(const Adagrad& adagrad) const {
        return fmt::format("learning_rate = {}\nepsilon = {}\ninitial = {}\n", adagrad.learning_rate,
                           adagrad.epsilon, adagrad.initial);
    }
    std::string operator()(const Ftrl& ftrl) const {
        return fmt::format("learning_rate = {}\nbeta = {}\nl1 = {}\nl2 = {}\n", ftrl.learning_rate, ftrl.beta,
                           ftrl.l1, ftrl.l2);
    }
};

struct ClickToml {
    std::string operator()(const ClickColumns& columns) const {
        return fmt::format("format = \"criteo\"\nintegers = {}\nslots = {}\n", columns.integers,
                           columns.slots);
    }
    std::string operator()(const CsvClickColumns& columns) const {
        auto out = fmt::format("format = \"csv\"\nseparator = {}\n",
                               columns.separator == '\t' ? "\"tab\"" : text({columns.separator}));
        if (!columns.label.empty()) out += fmt::format("label = {}\n", text(columns.label));
        if (columns.numbers) out += fmt::format("numbers = {}\n", nlohmann::json(*columns.numbers).dump());
        if (columns.categories)
            out += fmt::format("categories = {}\n", nlohmann::json(*columns.categories).dump());
        if (columns.header) out += fmt::format("header = {}\n", *columns.header);
        return out;
    }
    std::string operator()(const SvmlightClickColumns& columns) const {
        auto out = fmt::format("format = \"svmlight\"\nnumbers = {}\nfirst_id = {}\n", columns.numbers,
                               columns.first_id);
        if (!columns.slot_ids.empty())
            return out + fmt::format("slots = {}\n", nlohmann::json(columns.slot_ids).dump());
        return columns.slots == 0 ? out : out + fmt::format("slots = {}\n", columns.slots);
    }
};

std::string to_toml(const Job& job) {
    std::string out = fmt::format("title = {}\n[model]\nkind = {}\nhidden = {}\nactivation = {}\n",
                                  text(job.title), text(name_of(job.model.kind)),
                                  nlohmann::json(job.model.hidden).dump(), text(job.model.activation));
    if (job.model.kind == ModelKind::click_through)
        out += fmt::format("embedding = {}\n[data]\n{}", job.model.embedding,
                           std::visit(ClickToml{}, job.click_columns));
    else
        out += fmt::format("[data]\nscale = {}\n", job.train_data.scale);
    out += fmt::format("train = {}\n", source(job, job.train_data));
    if (job.test_data) out += fmt::format("test = {}\n", source(job, *job.test_data));
    out += fmt::format("[train]\nepochs = {}\n", job.train.epochs);
    out += job.train.global_batch ? fmt::format("global_batch = {}\n", *job.train.global_batch)
                                  : fmt::format("batch = {}\n", job.train.batch);
    out += fmt::format("seed = {}\noptimizer = {}\n{}", job.train.seed, text(name_of(job.train.optimizer)),
                       std::visit(OptimizerToml{}, job.train.optimizer));
    const auto& checkpoint = job.checkpoint;
    const auto& files = checkpoint.files;
    out += fmt::format("[checkpoint]\nkeep = {}\nasync = {}\nformat = {}\n", files.keep, files.async,
                       files.format == CheckpointFormat::file ? "\"file\"" : "\"directory\"");
    if (checkpoint.every) out += fmt::format("every = {}\n", *checkpoint.every);
    if (checkpoint.every_steps) out += fmt::format("every_steps = {}\n", *checkpoint.every_steps);
    if (files.shards) out += fmt::format("shards = {}\n", *files.shards);
    if (job.checkpoint.dir) out += fmt::format("dir = {}\n", text(job.checkpoint.dir->string()));
    return out;
}

TEST(JobFileProperties, AnyTextIsRefusedWithItsPlaceOrComesBackFromItsWrittenForm) {
    const std::string smallest = "[data]\ntrain = { file = \"d.h5\" }\n";
    const tests::Corpus corpus{
        .examples =
            {smallest, smallest + "[model]\nhidden = [128, 64]\nactivation = \"tanh\"\n",
             smallest +
                 "[train]\nepochs = 3\nbatch = 32\nseed = 17\noptimizer = \"sgd\"\nlearning_rate = 0.25\n",
             smallest + "[train]\noptimizer = \"momentum\"\nmomentum = 0.9\nglobal_batch = 64\n",
             "title = \"all\"\n[data]\nscale = 0.5\ntrain = { file = \"a.h5\", x = \"g/x\", y = \"g/y\" }\n"
             "[data.test]\nfile = \"/b.h5\"\n[train]\nbeta1 = 0.5\nbeta2 = 0.75\nepsilon = 1e-6\n"
             "[checkpoint]\ndir = \"out\"\nevery = 4\nkeep = 5\nformat = \"file\"\nasync = false\n",
             smallest + "[train]\noptimizer = \"ftrl\"\nl1 = 0.1\n[train.schedule]\nkind = \"piecewise\"\n"
                        "boundaries = [3]\nvalues = [1, 2]\nwarmup_steps = 2\n[train.clip]\n"
                        "by = \"value\"\nmax = 2\n[train.decay]\nkind = \"l2\"\ncoefficient = 0.1\n",
             "[model]\nkind = \"click_through\"\nembedding = 4\n[data]\nformat = \"criteo\"\nintegers = 2\n"
             "slots = 8\ntrain = { file = \"c.tsv\" }\ntest = { file = \"d.tsv.gz\" }\n",
             "[model]\nkind = \"click_through\"\n[data]\nformat = \"csv\"\nlabel = \"click\"\n"
             "numbers = [\"age\", 3]\ncategories = [\"site\"]\nseparator = \"tab\"\nheader = true\n"
             "train = { file = \"c.tsv\" }\n",
             "[model]\nkind = \"click_through\"\n[data]\nnumbers = 2\nslots = [3, 100]\nfirst_id = 0\n"
             "train = { file = \"c.svm\" }\ntest = { file = \"d.libsvm.gz\" }\n",
             smallest + "[checkpoint]\nevery_steps = 100\nshards = 3\nformat = \"directory\"\n"},
        .pieces = {smallest,
                   "[model]\n",
                   "[train]\n",
                   "[checkpoint]\n",
                   "[data.test]\n",
                   "[[data]]\n",
                   "hidden = ",
                   "[1, 2]",
                   "epochs = ",
                   "seed = ",
                   "keep = ",
                   "scale = ",
                   "\n",
                   "=",
                   "\"\"\"x",
                   "\"\\u0000\"",
                   "\"a\\nb\"",
                   "'x'",
                   "{",
                   "}",
                   "[",
                   "]",
                   "true",
                   "1979-05-27",
                   "0x1F",
                   "1e300",
                   "# c\n",
                   ".",
                   "dir = ",
                   "file = ",
                   "title = ",
                   "kind = \"click_through\"\n",
                   "slots = ",
                   "numbers = ",
                   "file = \"c.csv\"",
                   "\"text\"",
                   "train.epochs = 2\n"}};
    tests::for_all(corpus, &Mutator::text, [](const std::string& input) {
        try {
            const auto written = to_toml(parse_job(input, "job.toml"));
            EXPECT_EQ(to_toml(parse_job(written, "job.toml")), written);
        } catch (const UsageError& error) {
            const std::string message = error.what();
            EXPECT_TRUE(is_helpful(message, {"job.toml:"}));
        }
    });
}

TEST(NativeOptionsProperties, AnyCommandLineIsRefusedInWordsOrMeansOneJob) {
    const tests::Corpus corpus{
        .examples = {"my.toml --epochs 7 --checkpoint-dir=out --resume a.h5", "--resume my.toml",
                     "--epochs=3", "--help", "--version", "my.toml --resume --time-limit 5", "-- my.toml"},
        .pieces = {"--resume", "--epochs", "--checkpoint-dir", "--time-limit", "=", " ", " ", " ", "my.toml",
                   "a.h5", "out", "--", "-h"}};
    tests::for_all(corpus, &Mutator::words, [](const std::vector<std::string>& words) {
        try {
            const auto options = parse_options("dtrain-worker", words);
            EXPECT_TRUE(!options.epochs || *options.epochs >= 1);
            EXPECT_TRUE(!options.time_limit || *options.time_limit > 0);
            EXPECT_TRUE(!options.checkpoint_dir || !options.checkpoint_dir->empty());
            EXPECT_TRUE(!options.job || !options.job->empty());
            EXPECT_TRUE(options.resume || !options.resume_from);
        } catch (const UsageError& error) {
            auto named = words;
            for (const auto& word : words) named.push_back(word.substr(0, word.find('=')));
            named.emplace_back("''");
            EXPECT_TRUE(is_helpful(error.what(), named));
        }
    });
}

TEST(NativeOptionsProperties, AnyNumberOfThreadsIsRefusedByNameOrCounts) {
    const tests::Corpus corpus{.examples = {"1", "4,2", "16"}, .pieces = {"1", ",", "-", " "}};
    tests::for_all(corpus, &Mutator::text, [](const std::string& value) {
        try {
            EXPECT_GE(compute_threads({{"OMP_NUM_THREADS", value}}), 1);
        } catch (const UsageError& error) {
            EXPECT_TRUE(is_helpful(error.what(), {"OMP_NUM_THREADS=" + value}));
        }
    });
}

}  // namespace
}  // namespace dtrain::native
