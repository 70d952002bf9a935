// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0

// HDF5 1.10 keeps memory of files whose structures it found damaged, which these tests make in thousands.
extern "C" const char*
__lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier): LeakSanitizer's name
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5\n";
}  // NOLINT
extern "C" const char* __lsan_default_options();  // NOLINT
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }  // NOLINT
