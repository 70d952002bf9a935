# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""An element-wise operator and an optimizer that dtrain does not have, added as docs/development.md says ("What a change
touches"): a copy of the files in its row is changed, the sources of kernels and program that include a list of them are
compiled again, and a program uses both.

The lists are fixed when dtrain is compiled, so that a program cannot register its own. What is compiled here comes before
the same functions of libdtrain, as it is linked into the program itself.

Oracle: values worked out by hand, with numbers that float32 has exactly; and the counts in the guide.
"""
import concurrent.futures
import json
import os
import re
import shutil

import pytest

from conftest import BUILD, ROOT, build_option, run
from test_named_once import LIMITS

# quarter(x) is x, or x / 4 below 0. In each file: a line that is there once, and what comes before it; in a list, behind it.
OPERATOR = {
    "src/kernels/functors/functions.hpp": [("struct Sqrt {", """
struct Quarter {
    static constexpr std::string_view type = "quarter";
    static constexpr std::string_view gradient_type = "quarter_grad";
    static constexpr std::string_view gradient_reads = "out";
    template <class Real>
    PER_ELEMENT static Real value(Real x) {
        return x < 0 ? x / 4 : x;
    }
    template <class Real>
    PER_ELEMENT static Real gradient(Real y, Real dy) {
        return y < 0 ? dy / 4 : dy;
    }
};
"""), ("FunctionList<Relu, Tanh, Sigmoid", ", Quarter")],
    "include/dtrain/layers.hpp": [("/// x^2, element by element; same shape.", """
inline Var quarter(Program& program, const Var& x) {
    return unary(program, "quarter", x);
}
""")],
    "include/dtrain/nn_tensor.hpp": [("/// x^2, element by element; same shape.", """
inline Tensor quarter(const Tensor& x) {
    return unary("quarter", x);
}
""")],
    "include/dtrain/nn_layer.hpp": [("/// Softmax along the last axis.", """
class Quarter final : public Layer {
  public:
    Tensor forward(const Tensor& x) override { return quarter(x); }
};
""")],
}
# t = fade t + g; p -= rate t / (1 + |t|)
OPTIMIZER = {
    "include/dtrain/optimizer.hpp": [("/// How parameters follow their gradients.", """
struct Trail {
    double learning_rate = 1;
    double fade = 0.5;
};
"""), ("std::variant<Sgd, Momentum, Adam, Adagrad, AdamW, Ftrl", ", Trail")],
    "src/kernels/functors/update_rules.hpp": [("template <class... Rules>", """
struct TrailRule : UpdateRule {
    using Settings = Trail;
    static constexpr std::string_view type = "trail";
    static constexpr std::array settings{
        Setting<Trail>{.name = "fade", .number = &Trail::fade, .limits = Limits::fraction}};
    static constexpr std::array<std::string_view, 1> state{"trail"};

    template <class Real>
    struct Update {
        Real rate;
        Real fade;
        PER_ELEMENT void operator()(Real& p, Real& t, Real g) const {
            t = fade * t + g;
            p -= rate * t / (1 + std::fabs(t));
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<TrailRule>& values, double rate, std::int64_t) {
        return {static_cast<Real>(rate), static_cast<Real>(values[0])};
    }
};
"""), ("AdagradRule, AdamWRule, FtrlRule", ", TrailRule")],
}
ADDED = {"an element-wise operator": OPERATOR, "an optimizer": OPTIMIZER}
LISTS = {"an element-wise operator": "src/kernels/functors/functions.hpp", "an optimizer": "src/kernels/functors/update_rules.hpp"}

PROGRAM = r"""
#include <cstdio>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/nn_layer.hpp>
#include <dtrain/optimizer.hpp>

using namespace dtrain;

std::span<float> tensor(const State& state, const std::string& name) {
    return state.find(name)->view.as<float>();
}

void show(const char* name, std::span<const float> values) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
    std::printf("],\n");
}

Program weighted(Var (*function)(Program&, const Var&), const Optimizer& optimizer) {
    Program program;
    program.add({.name = "p", .shape = {2}, .role = Role::parameter});
    const auto g = layers::data(program, "g", {2});
    const Var p("p");
    const auto y = function != nullptr ? function(program, p) : p;
    minimize(program, layers::reduce_sum(program, layers::multiply(program, y, g)), optimizer);
    return program;
}

void operator_by_itself() {
    const auto program = weighted(layers::quarter, Sgd{.learning_rate = 0.5});
    const State state(program, 1);
    tensor(state, "p")[0] = -2;
    tensor(state, "p")[1] = 3;
    Executor executor(program, state);
    executor.feed<float>("g")[0] = 4;
    executor.feed<float>("g")[1] = 5;
    executor.run();
    show("operator", tensor(state, "p"));
}

void activation() {
    Program program;
    const auto x = layers::data(program, "x", {1, 1});
    const auto y = layers::fc(program, x, 1, {.activation = "quarter", .name = "fc"});
    minimize(program, layers::reduce_sum(program, y), Sgd{.learning_rate = 1});
    const State state(program, 1);
    tensor(state, "fc.weight")[0] = -2;
    Executor executor(program, state);
    executor.feed<float>("x")[0] = 3;
    executor.run();
    show("activation", executor.fetch(y));
    show("weight", tensor(state, "fc.weight"));
    show("bias", tensor(state, "fc.bias"));
}

void line_by_line() {
    const nn::Parameter p("p", {2});
    p.set_values(std::vector<float>{-8, 6});
    const auto y = nn::Quarter()(p);
    nn::sum(y * nn::Tensor::of(std::vector<float>{2, 3}, {2})).backward();
    show("layer", y.values());
    show("gradient", p.gradient());
}

void optimizer() {
    const auto program = weighted(nullptr, Trail{.learning_rate = 1, .fade = 0.5});
    const State state(program, 1);
    tensor(state, "p")[0] = 3;
    tensor(state, "p")[1] = 1;
    Executor executor(program, state);
    std::vector<float> way;
    for (const float g : {1.0F, 2.5F, -2.5F}) {
        executor.feed<float>("g")[0] = g;
        executor.feed<float>("g")[1] = 0;
        executor.run();
        way.push_back(tensor(state, "p")[0]);
    }
    show("optimizer", way);
    show("untouched", tensor(state, "p").subspan(1));
}

int main() {
    std::printf("{");
    try {
        operator_by_itself();
        activation();
        line_by_line();
        optimizer();
        weighted(nullptr, Trail{.learning_rate = 1, .fade = 1.5});
    } catch (const std::exception& refused) {
        std::printf("\"refused\": \"%s\"}\n", refused.what());
        return 0;
    }
    return 1;
}
"""


def changed(path, changes):
    """Each change is a text before the line that is found, or behind the words of a list."""
    text = (ROOT / path).read_text()
    for found, added in changes:
        assert text.count(found) == 1, f"{path} has '{found}' {text.count(found)} times"
        text = text.replace(found, found + added if added.startswith(",") else added.lstrip("\n") + "\n" + found)
    return text


def sources_with(header):
    """Those of kernels and program that include it, however indirectly."""
    included = re.compile(r'^\s*#include\s+["<]([^">]+)[">]', re.M)
    known = {}

    def headers_of(path):
        if path not in known:
            known[path] = set()
            for name in included.findall(path.read_text()):
                for beside in (ROOT / "include" / name, ROOT / "src" / name):
                    if beside.is_file():
                        known[path] |= {beside} | headers_of(beside)
        return known[path]

    return [path for room in ("kernels", "program") for path in sorted((ROOT / "src" / room).rglob("*.cpp"))
            if ROOT / header in headers_of(path)]


class Built:
    def __init__(self, folder):
        self.folder = folder
        for files in ADDED.values():
            for path, changes in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(changed(path, changes))
        (folder / "uses_both.cpp").write_text(PROGRAM)
        # Sources of a list together: most of their time are the headers that they share.
        for what, header in LISTS.items():
            self.source_of(what).write_text("".join(f'#include "{source.relative_to(ROOT / "src")}"\n' for source in sources_with(header)))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as compilers:
            list(compilers.map(self.compile, [folder / "uses_both.cpp", *map(self.source_of, LISTS)]))

    def source_of(self, what):
        return self.folder / f"{what.split()[-1]}.cpp"

    def compile(self, source):
        # The changed headers come first, and those beside them that did not change are where they are.
        folders = [self.folder / "include", self.folder / "src", ROOT / "include", ROOT / "src", BUILD / "include", BUILD / "src"]
        cache = ["ccache"] if shutil.which("ccache") else []
        done = run([*cache, "g++", "-std=c++20", "-O0", "-fPIC", "-c", source, "-o", source.with_suffix(".o"),
                    *(f"-I{each}" for each in folders)], self.folder, timeout=400)
        assert done.returncode == 0, done.stderr

    def link(self, name, kinds):
        objects = [source.with_suffix(".o") for source in (self.folder / "uses_both.cpp", *map(self.source_of, kinds))]
        return run(["g++", *objects, f"-L{BUILD / 'src'}", "-ldtrain",
                    f"-Wl,-rpath,{BUILD / 'src'}", "-lfmt", "-o", self.folder / name], self.folder, timeout=400)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if (sanitizers := build_option("b_sanitize")) != "none":
        pytest.skip(f"a program outside the build has no {sanitizers} sanitizer to link libdtrain with")
    return Built(tmp_path_factory.mktemp("made-up"))


@pytest.fixture(scope="module")
def values(built):
    linked = built.link("uses_both", ADDED)
    assert linked.returncode == 0, linked.stderr
    done = run([built.folder / "uses_both"], built.folder, DTRAIN_DEVICE="cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("what", ADDED)
def test_the_guide_counts_these_files(what):
    assert len(ADDED[what]) == LIMITS[what][0], sorted(ADDED[what])
    row = re.search(rf"^\| {what} \|.*$", (ROOT / "docs/development.md").read_text(), re.MULTILINE)[0]
    assert all(path.rsplit("/", 1)[1] in row for path in ADDED[what]), row


def test_an_operator_in_a_static_program(values):
    # y = (-0.5, 3); the loss 4 y0 + 5 y1 has the gradient (4 / 4, 5), and half of it is subtracted from (-2, 3).
    assert values["operator"] == [-2.5, 0.5]


def test_an_operator_as_the_activation_of_fc(values):
    # -2 * 3 = -6, a quarter of which is -1.5; dy/dweight = 3 / 4 and dy/dbias = 1 / 4, subtracted from -2 and 0.
    assert (values["activation"], values["weight"], values["bias"]) == ([-1.5], [-2.75], [-0.25])


def test_an_operator_line_by_line(values):
    # quarter(-8, 6), and the gradient of 2 y0 + 3 y1: (2 / 4, 3).
    assert (values["layer"], values["gradient"]) == ([-2, 6], [0.5, 3])


def test_an_optimizer(values):
    # t = 1, 0.5 + 2.5 = 3, 1.5 - 2.5 = -1; from 3 go 1 / 2, 3 / 4 and -1 / 2. An element without a gradient stays.
    assert values["optimizer"] == [2.5, 1.75, 2.25]
    assert values["untouched"] == [1]


def test_a_setting_out_of_range_is_refused(values):
    assert "fade" in values["refused"] and "1.5" in values["refused"], values["refused"]


def test_libdtrain_itself_has_no_such_operator(built):
    linked = built.link("without_operator", ["an optimizer"])
    assert linked.returncode == 0, linked.stderr
    done = run([built.folder / "without_operator"], built.folder, DTRAIN_DEVICE="cpu")
    refused = json.loads(done.stdout)
    assert list(refused) == ["refused"] and "quarter" in refused["refused"], done.stdout


def test_libdtrain_itself_has_no_such_optimizer(built):
    linked = built.link("without_optimizer", ["an element-wise operator"])
    assert linked.returncode != 0 and "dtrain::Trail" in linked.stderr, linked.stderr
