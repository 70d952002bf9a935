// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what Python 3.11, torch and Paddle print (copied from runs and from Paddle's documents), and
// hand-worked examples.
#include <gtest/gtest.h>

#include "launch/outcome/log_text.hpp"

namespace dtrain::launch {
namespace {

TEST(LastLines, OfALog) {
    EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc\n");
    EXPECT_EQ(last_lines("a\nb\nc", 2), "b\nc\n");
    EXPECT_EQ(last_lines("a\nb\nc\n\n \n\n", 1), "c\n");
    EXPECT_EQ(last_lines("a\nb\n", 2), "a\nb\n");
    EXPECT_EQ(last_lines("a\nb\n", 20), "a\nb\n");
    EXPECT_EQ(last_lines("one", 1), "one\n");
    EXPECT_EQ(last_lines("a\n    indented\n", 1), "    indented\n");
    EXPECT_EQ(last_lines("a\n\nb\n", 2), "\nb\n");
}

TEST(LastLines, OfNothing) {
    for (const char* log : {"", "\n", " \n\t\n"}) EXPECT_EQ(last_lines(log, 5), "");
    EXPECT_EQ(last_lines("a\nb\n", 0), "");
}

TEST(LastLines, AProgressBarIsTheLineItEndedAs) {
    EXPECT_EQ(last_lines("epoch 1\n 10%|#   |\r 50%|##  |\r 99%|### |\nboom\n", 3),
              "epoch 1\n 99%|### |\nboom\n");
    EXPECT_EQ(last_lines("from Windows\r\nboom\r\n", 2), "from Windows\nboom\n");
}

TEST(LastLines, VeryLongOnesAreCut) {
    const auto shown = last_lines("a\n" + std::string(50'000, 'x') + "\n", 2);
    EXPECT_EQ(shown, "a\n" + std::string(2000, 'x') + " ...\n");
}

constexpr const char* chained =
    "step 3\n"
    "Traceback (most recent call last):\n"
    "  File \"/home/u/a.py\", line 4, in f\n"
    "    {}['x']\n"
    "    ~~^^^^^\n"
    "KeyError: 'x'\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    "  File \"/home/u/a.py\", line 10, in <module>\n"
    "    f()\n"
    "  File \"/home/u/a.py\", line 6, in f\n"
    "    raise ValueError('my own words')\n"
    "ValueError: my own words\n";

TEST(ExceptionLine, TheLastOfAChain) {
    EXPECT_EQ(exception_line(chained), "ValueError: my own words");
    EXPECT_EQ(exception_line(std::string(chained) + "saving what can be saved\nbye\n"),
              "ValueError: my own words");
}

TEST(ExceptionLine, OfSeveralShapes) {
    EXPECT_EQ(exception_line("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n"
                             "    sleep()\nKeyboardInterrupt\n"),
              "KeyboardInterrupt");
    EXPECT_EQ(exception_line("Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n"
                             "torch.cuda.OutOfMemoryError: CUDA out of memory.\nTried to allocate 2 GiB\n"),
              "torch.cuda.OutOfMemoryError: CUDA out of memory.");
    EXPECT_EQ(exception_line(
                  "  File \"/home/u/a.py\", line 3\n    x = = 2\n        ^\nSyntaxError: invalid syntax\n"),
              "SyntaxError: invalid syntax");
}

TEST(ExceptionLine, BehindTorchsRankPrefix) {
    EXPECT_EQ(
        exception_line("[rank13]: Traceback (most recent call last):\n[rank13]:   File \"a.py\", line 1\n"
                       "[rank13]:     f()\n[rank13]: RuntimeError: shapes differ\n"),
        "RuntimeError: shapes differ");
}

TEST(ExceptionLine, OfALoadersProcessInsideAnother) {
    EXPECT_EQ(exception_line(
                  "Traceback (most recent call last):\n  File \"a.py\", line 9, in <module>\n    next(it)\n"
                  "RuntimeError: Caught OSError in DataLoader worker process 0.\n"
                  "Original Traceback (most recent call last):\n  File \"fetch.py\", line 2, in fetch\n"
                  "    read()\nOSError: [Errno 5] Input/output error\n\n"),
              "OSError: [Errno 5] Input/output error");
}

TEST(ExceptionLine, OfTheDocuments) {
    EXPECT_EQ(
        exception_line("Traceback (most recent call last):\n"
                       "   File \"/root/paddlejob/workspace/env_run/reader.py\", line 218, in __next__\n"
                       "      data = next(self, loader)\n"
                       "SystemError: (Fatal) Blocking queue is killed.\n[Hint: Expected killed_ != true]\n"),
        "SystemError: (Fatal) Blocking queue is killed.");
}

TEST(ExceptionLine, NothingElseIsOne) {
    for (const char* log :
         {"", "ValueError: not raised\n", "Traceback (most recent call last):\n",
          "  File \"a.py\", line 1\n    x\n",
          "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
          "  File \"a.py\", line 2 in f\n  File \"a.py\", line 4 in <module>\n\n"
          "Extension modules: numpy.core._multiarray_umath (total: 1)\n",
          "  File \"a.py\", line 1\n\n\n", "[rankX]:   File \"a.py\"\n[rankX]: ValueError: x\n"})
        EXPECT_EQ(exception_line(log), std::nullopt) << log;
}

TEST(ExceptionLine, ALongOneIsCut) {
    const auto line =
        exception_line("  File \"a.py\", line 1\n    f()\nValueError: " + std::string(1000, 'x') + "\n");
    ASSERT_TRUE(line);
    EXPECT_EQ(*line, "ValueError: " + std::string(388, 'x') + " ...");
}

TEST(LoaderComplaint, OfTheLastProgramThatLacksALibrary) {
    // As glibc 2.36 prints it.
    EXPECT_EQ(
        loader_complaint(
            "up\n/opt/dtrain-native: error while loading shared libraries: libmpi.so.40: cannot open "
            "shared object file: No such file or directory\n"),
        "error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file or "
        "directory");
    EXPECT_EQ(loader_complaint("a: error while loading shared libraries: x\r\n"
                               "b: error while loading shared libraries: y\r\n"),
              "error while loading shared libraries: y");
    EXPECT_EQ(loader_complaint("sh: 1: nothere: not found\n"), std::nullopt);
}

TEST(WhatEndedARank, PaddlesLineForSigterm) {
    EXPECT_EQ(ended_by("step 3\n[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6cf1fc6700) "
                       "from PID 1022 ***]\n"),
              EndedBy::sigterm);
    EXPECT_EQ(ended_by("[SignalInfo: *** SIGSEGV (@0x0) received by PID 1164 (TID 0x7f6c) from PID 0 ***]"),
              EndedBy::itself);
    EXPECT_EQ(ended_by("got SIGTERM\n"), EndedBy::itself);
    EXPECT_EQ(ended_by(""), EndedBy::itself);
}

TEST(WhatEndedARank, TheConnectionThatOpenMpiLost) {
    EXPECT_EQ(ended_by("[n2:00007] *** An error occurred in Socket closed\n"
                       "[n2:00007] *** reported by process [565116929,0]\n"),
              EndedBy::lost_connection);
    EXPECT_EQ(ended_by("[n2:00007] *** An error occurred in MPI_Send\n"), EndedBy::itself);
    EXPECT_EQ(ended_by("OSError: Socket closed\n"), EndedBy::itself);
}

}  // namespace
}  // namespace dtrain::launch
