// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the lines that mpirun of Open MPI 4.1.4 (with and without --prefix) and 5.0.11 gave to a remote
// shell, and what bash makes of them; for everything else the rule that only Open MPI's daemon with its own
// options may run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "transport/daemon_command.hpp"

namespace dtrain::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

constexpr const char* open_mpi_4 =
    R"( orted -mca orte_leave_session_attached "1" -mca ess "env" -mca ess_base_jobid "2135556096" )"
    R"~(-mca ess_base_vpid 1 -mca ess_base_num_procs "3" -mca orte_node_regex "vm,[2:10].77.0.2,[2:10].77.0.3@0(3)" )~"
    R"(-mca orte_hnp_uri "2135556096.0;tcp://192.0.2.2:46541;tcp6://[fd00::2]:40609" )"
    R"(--mca plm_rsh_agent "/opt/dtrain-rsh" --mca plm_rsh_no_tree_spawn "1" -mca plm "rsh" )"
    R"(-mca pmix "^s1,s2,cray,isolated")";

constexpr const char* open_mpi_4_with_prefix =
    "          PATH=/usr/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/usr/lib:${LD_LIBRARY_PATH:-} ; export "
    "LD_LIBRARY_PATH ; DYLD_LIBRARY_PATH=/usr/lib:${DYLD_LIBRARY_PATH:-} ; export DYLD_LIBRARY_PATH ;   "
    R"(/usr/bin/orted -mca ess "env" -mca ess_base_vpid 1)";

constexpr const char* open_mpi_5 =
    "PRTE_PREFIX=/opt/ompi5;export PRTE_PREFIX;PMIX_PREFIX=/opt/ompi5;export PMIX_PREFIX;"
    "LD_LIBRARY_PATH=/opt/ompi5/lib:/opt/ompi5/lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;"
    "DYLD_LIBRARY_PATH=/opt/ompi5/lib:/opt/ompi5/lib:$DYLD_LIBRARY_PATH;export DYLD_LIBRARY_PATH;"
    R"(/opt/ompi5/bin/prted --leave-session-attached --allow-run-as-root --prtemca ess "env" )"
    R"(--prtemca ess_base_nspace "prterun-vm-27301@0" --prtemca ess_base_vpid 1 )"
    R"(--prtemca prte_hnp_uri "prterun-vm-27301@0.0;tcp://192.0.2.2:38157:64,24;tcp6://[fd00::2]:45141:64,24")";

const Environment environment{{"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", "/opt/lib"}};

TEST(DaemonCommand, OfOpenMpi4) {
    const auto command = parse_daemon_command(open_mpi_4, environment);
    EXPECT_EQ(command.assignments, Environment{});
    EXPECT_EQ(command.program, "orted");
    EXPECT_THAT(command.arguments,
                ElementsAre("-mca", "orte_leave_session_attached", "1", "-mca", "ess", "env", "-mca",
                            "ess_base_jobid", "2135556096", "-mca", "ess_base_vpid", "1", "-mca",
                            "ess_base_num_procs", "3", "-mca", "orte_node_regex",
                            "vm,[2:10].77.0.2,[2:10].77.0.3@0(3)", "-mca", "orte_hnp_uri",
                            "2135556096.0;tcp://192.0.2.2:46541;tcp6://[fd00::2]:40609", "--mca",
                            "plm_rsh_agent", "/opt/dtrain-rsh", "--mca", "plm_rsh_no_tree_spawn", "1", "-mca",
                            "plm", "rsh", "-mca", "pmix", "^s1,s2,cray,isolated"));
}

TEST(DaemonCommand, SearchPathsBeginWithThePrefix) {
    const auto command = parse_daemon_command(open_mpi_4_with_prefix, environment);
    EXPECT_EQ(command.assignments, (Environment{{"PATH", "/usr/bin:/usr/bin:/bin"},
                                                {"LD_LIBRARY_PATH", "/usr/lib:/opt/lib"},
                                                {"DYLD_LIBRARY_PATH", "/usr/lib:"}}));
    EXPECT_EQ(command.program, "/usr/bin/orted");
    EXPECT_THAT(command.arguments, ElementsAre("-mca", "ess", "env", "-mca", "ess_base_vpid", "1"));
}

TEST(DaemonCommand, OfOpenMpi5) {
    const auto command = parse_daemon_command(open_mpi_5, environment);
    EXPECT_EQ(command.assignments, (Environment{{"PRTE_PREFIX", "/opt/ompi5"},
                                                {"PMIX_PREFIX", "/opt/ompi5"},
                                                {"LD_LIBRARY_PATH", "/opt/ompi5/lib:/opt/ompi5/lib:/opt/lib"},
                                                {"DYLD_LIBRARY_PATH", "/opt/ompi5/lib:/opt/ompi5/lib:"}}));
    EXPECT_EQ(command.program, "/opt/ompi5/bin/prted");
    EXPECT_EQ(command.arguments.size(), 14u);
}

TEST(DaemonCommand, LoginShellShReadsTheProfileFirst) {
    const auto command =
        parse_daemon_command("( test ! -r ./.profile || . ./.profile; orted -mca ess \"env\" )", environment);
    EXPECT_THAT(command.arguments, ElementsAre("-mca", "ess", "env"));
}

TEST(DaemonCommand, NothingElseIsRun) {
    for (const char* line : {
             "",
             ";",
             "rm -rf /",
             "/bin/sh -c orted",
             "orted; rm -rf /",
             "rm -rf /; orted",
             "orted -mca a b & rm x",
             "orted -mca a b && rm x",
             "orted -mca a b | sh",
             "orted -mca a `rm x`",
             "orted -mca a \"`rm x`\"",
             "orted -mca a $(rm x)",
             "orted -mca a \"$(rm x)\"",
             "orted -mca a $HOME",
             "orted -mca a b > /etc/passwd",
             "orted -mca a \"b",
             "orted -mca a b\nrm x",
             "orted -mca a",
             "orted -mca",
             "orted --daemonize",
             "orted x",
             "orted -mca mca_base_component_path /tmp",
             "orted -mca mca_component_path \"/tmp\"",
             "orted/sh -mca a b",
             "LD_PRELOAD=/tmp/x.so; orted",
             "LD_PRELOAD=/tmp/x.so orted",
             "PATH=$(rm x); orted",
             "PATH=/a:$HOME; orted",
             "PATH=/a:$PATH:/b; orted",
             "PATH=`rm`; orted",
             "PATH=/a b; orted",
             "export PATH; orted",
             "export; orted",
             "PATH=/a; export IFS; orted",
             "( test ! -r ./.profile || . ./.profile; rm x )",
             "setenv PATH /usr/bin ; orted",
         })
        EXPECT_THROW(parse_daemon_command(line, environment), UsageError) << line;
    EXPECT_THAT(
        message_of([] { parse_daemon_command("rm -rf /", environment); }),
        HasSubstr("mpirun's command for this node has the program rm; only Open MPI's own daemon is started "
                  "here: rm -rf /"));
}

TEST(DaemonCommand, WhatAShellWouldTakeForAnOperatorIsNoPartOfAWord) {
    for (const char special : std::string_view("|&<>()*?[]{}~#!;`$\\\n"))
        EXPECT_THROW(parse_daemon_command(std::string("orted -mca a b") + special + "c", environment),
                     UsageError)
            << special;
    EXPECT_THAT(parse_daemon_command("orted -mca a \"b|c\"", environment).arguments,
                ElementsAre("-mca", "a", "b|c"));
}

TEST(DaemonCommandProperty, WhateverIsAcceptedIsADaemonWithKnownOptions) {
    const tests::Corpus corpus{
        .examples = {open_mpi_4, open_mpi_4_with_prefix, open_mpi_5},
        .pieces = {"orted", "prted", " ",  ";", "-mca ", "a b ", "PATH=", "$PATH", "export PATH", "\"", "'",
                   "\\",    "rm ",   "$(", ")", "`",     "|",    "&",     "\n",    "sh -c "}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& line) {
        try {
            const auto command = parse_daemon_command(line, environment);
            EXPECT_TRUE(command.program.ends_with("orted") || command.program.ends_with("prted"));
            for (const auto& [name, value] : command.assignments) {
                EXPECT_TRUE(name.ends_with("PATH") || name.ends_with("PREFIX"));
                EXPECT_EQ(value.find_first_of("$`\"'\\ \n;|&"), std::string::npos);
            }
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(
                error.what(), {"command for this node", "quote", "backslash", "nothing follows"}));
        }
    });
}

LocalPrograms programs(const Environment& found) {
    return {.in_path = [found](const std::string& name) { return found.get(name); },
            .same_file = [](const std::string& a, const std::string& b) { return a == b; }};
}

TEST(DaemonCommand, OnlyThisNodesOwnDaemonIsExecuted) {
    const auto debian = programs({{"orted", "/usr/bin/orted"}, {"mpirun", "/usr/bin/mpirun"}});
    EXPECT_EQ(local_daemon({.program = "orted"}, debian), "/usr/bin/orted");
    EXPECT_EQ(local_daemon({.program = "/usr/bin/orted"}, debian), "/usr/bin/orted");
    EXPECT_THAT(message_of([&] { local_daemon({.program = "/tmp/orted"}, debian); }),
                HasSubstr("node 0 uses /tmp/orted, and this node's Open MPI is /usr/bin/orted"));
    EXPECT_THAT(message_of([&] { local_daemon({.program = "prted"}, debian); }),
                HasSubstr("no prted in its PATH"));
    // 5.0 from a wheel: only mpirun's folder tells.
    EXPECT_EQ(
        local_daemon({.program = "/opt/ompi5/bin/prted"}, programs({{"mpirun", "/opt/ompi5/bin/mpirun"}})),
        "/opt/ompi5/bin/prted");
    EXPECT_THROW(local_daemon({.program = "/usr/bin/orted"}, programs({})), UsageError);
}

}  // namespace
}  // namespace dtrain::transport
