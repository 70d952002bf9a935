// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0

// LeakSanitizer's names
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_options();

// HDF5 1.10 keeps memory of files whose structures it found damaged, which these tests make in thousands.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5\n";
}
extern "C" const char* __lsan_default_options() {
    return "print_suppressions=0";
}
// NOLINTEND(bugprone-reserved-identifier)
