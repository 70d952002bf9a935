// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/texts.hpp"

#include <array>
#include <cctype>
#include <cstdio>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <unwind.h>

namespace dtrain::trace_mpi {
namespace {

bool is_predefined(MPI_Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

/// "unsigned long" of MPI_UNSIGNED_LONG, "int32_t" of MPI_INT32_T.
std::string as_in_c(std::string_view name) {
    std::string text;
    for (const char letter : name.substr(name.find('_') + 1))
        text += letter == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (text.ends_with(" t")) text[text.size() - 2] = '_';
    return text;
}

std::string name_of(MPI_Datatype type) {
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    PMPI_Type_get_name(type, name.data(), &length);
    return name.data();
}

std::string text_of_derived(MPI_Datatype type) {
    if (auto name = name_of(type); !name.empty()) return name;
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return std::to_string(bytes) + " bytes";
}

std::string text_of(MPI_Op op) {
    struct Named {
        MPI_Op op;
        const char* name;
    };
    const std::array predefined{Named{MPI_SUM, "sum"},
                                Named{MPI_MAX, "max"},
                                Named{MPI_MIN, "min"},
                                Named{MPI_PROD, "product"},
                                Named{MPI_LAND, "and"},
                                Named{MPI_BAND, "bitwise and"},
                                Named{MPI_LOR, "or"},
                                Named{MPI_BOR, "bitwise or"},
                                Named{MPI_LXOR, "exclusive or"},
                                Named{MPI_BXOR, "bitwise exclusive or"},
                                Named{MPI_MAXLOC, "max and place"},
                                Named{MPI_MINLOC, "min and place"}};
    for (const auto& known : predefined)
        if (known.op == op) return known.name;
    return "reduction of the program's";
}

constexpr std::uint16_t of_library = 0xFFFF;  // no index of a text

struct CodeLocation {
    std::string file;  ///< without folders
    std::size_t offset = 0;
};

CodeLocation location_of(const void* return_address) {
    const auto* const call = static_cast<const char*>(return_address) - 1;
    Dl_info info{};
    void* object = nullptr;
    if (::dladdr1(call, &info, &object, RTLD_DL_LINKMAP) == 0 || info.dli_fname == nullptr) return {};
    const std::string_view file = info.dli_fname;
    const auto loaded_at = static_cast<const link_map*>(object)->l_addr;
    return {.file = std::string(file.substr(file.rfind('/') + 1)),
            .offset = reinterpret_cast<std::uintptr_t>(call) - loaded_at};
}

/// libmpi_mpifh.so.40, libmpichfort.so.12, libmpi.so.40, and this library.
bool is_of_library(const CodeLocation& location) {
    return location.file.starts_with("libmpi") || location.file.starts_with("libdtrain_trace_mpi.");
}

std::string text_of(const CodeLocation& location) {
    if (location.file.empty()) return {};
    std::array<char, 32> offset{};
    std::snprintf(offset.data(), offset.size(), "+0x%zx", location.offset);
    return location.file + offset.data();
}

}  // namespace

template <std::size_t size, class IndexOf>
std::uint16_t Texts::kept(Known<size>& known, std::uintptr_t key, const IndexOf& index_of) {
    if (const auto* const index = known.find(key)) return *index;
    const auto index = index_of();
    const std::lock_guard lock(mutex_);
    if (known.find(key) == nullptr) known.add(key, [&](std::uint16_t& value) { value = index; });
    return index;
}

std::uint16_t Texts::function(const char* literal) {
    return kept(functions_, key_of(literal), [&] { return log_.text(literal); });
}

std::uint16_t Texts::type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return 0;
    if (const auto* const index = types_.find(key_of(type))) return *index;
    // A derived type may be freed, and its handle be another one's.
    if (!is_predefined(type)) return log_.text(text_of_derived(type));
    return kept(types_, key_of(type), [&] { return log_.text(as_in_c(name_of(type))); });
}

std::uint16_t Texts::reduction(MPI_Op op) {
    return op == MPI_OP_NULL ? std::uint16_t{0}
                             : kept(reductions_, key_of(op), [&] { return log_.text(text_of(op)); });
}

std::uint16_t Texts::source(const void* return_address) {
    const auto index = source_or_library(return_address);
    return index == of_library ? source_behind_library() : index;
}

std::uint16_t Texts::source_or_library(const void* return_address) {
    return kept(sources_, key_of(return_address), [&] {
        const auto location = location_of(return_address);
        return is_of_library(location) ? of_library : log_.text(text_of(location));
    });
}

std::uint16_t Texts::source_behind_library() {
    struct Search {
        Texts& texts;
        std::uint16_t found = 0;
    };
    Search search{.texts = *this};
    const auto look = [](_Unwind_Context* context, void* argument) {
        auto& [texts, found] = *static_cast<Search*>(argument);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is all that there is of a call
        const auto index = texts.source_or_library(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
        if (index == of_library) return _URC_NO_REASON;
        found = index;
        return _URC_NORMAL_STOP;
    };
    ::_Unwind_Backtrace(look, &search);
    return search.found;
}

}  // namespace dtrain::trace_mpi
