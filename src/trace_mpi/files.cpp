// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/mpi_library.hpp"
#include "trace_mpi/record.hpp"

using namespace dtrain::trace_mpi;

DTRAIN_RECORDED(File_open);
int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* made) {
    return making(
        CollectiveCall{.name = "MPI_File_open", .where = of_comm(comm)},
        [&] { return mpi_library::File_open(comm, path, mode, info, made); },
        [&](Recorder& recorder) { recorder.groups.add_file(comm, *made, path); });
}

DTRAIN_RECORDED(File_close);
int MPI_File_close(MPI_File* file) {
    return freeing(CollectiveCall{.name = "MPI_File_close", .where = of_file(*file)},
                   [&] { return mpi_library::File_close(file); });
}

DTRAIN_RECORDED(File_set_view);
int MPI_File_set_view(MPI_File file, MPI_Offset offset, MPI_Datatype each, MPI_Datatype view,
                      const char* representation, MPI_Info info) {
    return blocking(CollectiveCall{.name = "MPI_File_set_view", .where = of_file(file)}, [&] {
        return mpi_library::File_set_view(file, offset, each, view, representation, info);
    });
}

DTRAIN_RECORDED(File_set_size);
int MPI_File_set_size(MPI_File file, MPI_Offset size) {
    return blocking(CollectiveCall{.name = "MPI_File_set_size", .where = of_file(file)},
                    [&] { return mpi_library::File_set_size(file, size); });
}

DTRAIN_RECORDED(File_preallocate);
int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
    return blocking(CollectiveCall{.name = "MPI_File_preallocate", .where = of_file(file)},
                    [&] { return mpi_library::File_preallocate(file, size); });
}

DTRAIN_RECORDED(File_set_atomicity);
int MPI_File_set_atomicity(MPI_File file, int flag) {
    return blocking(CollectiveCall{.name = "MPI_File_set_atomicity", .where = of_file(file)},
                    [&] { return mpi_library::File_set_atomicity(file, flag); });
}

DTRAIN_RECORDED(File_sync);
int MPI_File_sync(MPI_File file) {
    return blocking(CollectiveCall{.name = "MPI_File_sync", .where = of_file(file)},
                    [&] { return mpi_library::File_sync(file); });
}

DTRAIN_RECORDED(File_seek_shared);
int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
    return blocking(CollectiveCall{.name = "MPI_File_seek_shared", .where = of_file(file)},
                    [&] { return mpi_library::File_seek_shared(file, offset, whence); });
}

DTRAIN_RECORDED(File_read_all);
int MPI_File_read_all(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_read_all", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_read_all(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_iread_all);
int MPI_File_iread_all(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_File_iread_all", .where = of_file(file), .elements = Elements::differ(type)},
        request, [&] { return mpi_library::File_iread_all(file, data, count, type, request); });
}

DTRAIN_RECORDED(File_read_all_begin);
int MPI_File_read_all_begin(MPI_File file, void* data, int count, MPI_Datatype type) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_read_all_begin", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_read_all_begin(file, data, count, type); });
}

DTRAIN_RECORDED(File_read_all_end);
int MPI_File_read_all_end(MPI_File file, void* data, MPI_Status* status) {
    return blocking(CollectiveCall{.name = "MPI_File_read_all_end", .where = of_file(file)},
                    [&] { return mpi_library::File_read_all_end(file, data, status); });
}

DTRAIN_RECORDED(File_read_at_all);
int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type,
                         MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_read_at_all", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_read_at_all(file, offset, data, count, type, status); });
}

DTRAIN_RECORDED(File_iread_at_all);
int MPI_File_iread_at_all(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type,
                          MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_File_iread_at_all", .where = of_file(file), .elements = Elements::differ(type)},
        request, [&] { return mpi_library::File_iread_at_all(file, offset, data, count, type, request); });
}

DTRAIN_RECORDED(File_read_at_all_begin);
int MPI_File_read_at_all_begin(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_read_at_all_begin", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_read_at_all_begin(file, offset, data, count, type); });
}

DTRAIN_RECORDED(File_read_at_all_end);
int MPI_File_read_at_all_end(MPI_File file, void* data, MPI_Status* status) {
    return blocking(CollectiveCall{.name = "MPI_File_read_at_all_end", .where = of_file(file)},
                    [&] { return mpi_library::File_read_at_all_end(file, data, status); });
}

DTRAIN_RECORDED(File_read_ordered);
int MPI_File_read_ordered(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_read_ordered", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_read_ordered(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_write_all);
int MPI_File_write_all(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_write_all", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_write_all(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_iwrite_all);
int MPI_File_iwrite_all(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_File_iwrite_all", .where = of_file(file), .elements = Elements::differ(type)},
        request, [&] { return mpi_library::File_iwrite_all(file, data, count, type, request); });
}

DTRAIN_RECORDED(File_write_all_begin);
int MPI_File_write_all_begin(MPI_File file, const void* data, int count, MPI_Datatype type) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_write_all_begin", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_write_all_begin(file, data, count, type); });
}

DTRAIN_RECORDED(File_write_all_end);
int MPI_File_write_all_end(MPI_File file, const void* data, MPI_Status* status) {
    return blocking(CollectiveCall{.name = "MPI_File_write_all_end", .where = of_file(file)},
                    [&] { return mpi_library::File_write_all_end(file, data, status); });
}

DTRAIN_RECORDED(File_write_at_all);
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                          MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_write_at_all", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_write_at_all(file, offset, data, count, type, status); });
}

DTRAIN_RECORDED(File_iwrite_at_all);
int MPI_File_iwrite_at_all(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                           MPI_Request* request) {
    return nonblocking(
        CollectiveCall{
            .name = "MPI_File_iwrite_at_all", .where = of_file(file), .elements = Elements::differ(type)},
        request, [&] { return mpi_library::File_iwrite_at_all(file, offset, data, count, type, request); });
}

DTRAIN_RECORDED(File_write_at_all_begin);
int MPI_File_write_at_all_begin(MPI_File file, MPI_Offset offset, const void* data, int count,
                                MPI_Datatype type) {
    return blocking(CollectiveCall{.name = "MPI_File_write_at_all_begin",
                                   .where = of_file(file),
                                   .elements = Elements::differ(type)},
                    [&] { return mpi_library::File_write_at_all_begin(file, offset, data, count, type); });
}

DTRAIN_RECORDED(File_write_at_all_end);
int MPI_File_write_at_all_end(MPI_File file, const void* data, MPI_Status* status) {
    return blocking(CollectiveCall{.name = "MPI_File_write_at_all_end", .where = of_file(file)},
                    [&] { return mpi_library::File_write_at_all_end(file, data, status); });
}

DTRAIN_RECORDED(File_write_ordered);
int MPI_File_write_ordered(MPI_File file, const void* data, int count, MPI_Datatype type,
                           MPI_Status* status) {
    return blocking(
        CollectiveCall{
            .name = "MPI_File_write_ordered", .where = of_file(file), .elements = Elements::differ(type)},
        [&] { return mpi_library::File_write_ordered(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_read);
// Of one rank: they wait for the file system.
int MPI_File_read(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(OtherCall{.name = "MPI_File_read", .where = of_file(file), .elements = {count, type}},
                    [&] { return mpi_library::File_read(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_read_at);
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type,
                     MPI_Status* status) {
    return blocking(OtherCall{.name = "MPI_File_read_at", .where = of_file(file), .elements = {count, type}},
                    [&] { return mpi_library::File_read_at(file, offset, data, count, type, status); });
}

DTRAIN_RECORDED(File_read_shared);
int MPI_File_read_shared(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(
        OtherCall{.name = "MPI_File_read_shared", .where = of_file(file), .elements = {count, type}},
        [&] { return mpi_library::File_read_shared(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_write);
int MPI_File_write(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(OtherCall{.name = "MPI_File_write", .where = of_file(file), .elements = {count, type}},
                    [&] { return mpi_library::File_write(file, data, count, type, status); });
}

DTRAIN_RECORDED(File_write_at);
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                      MPI_Status* status) {
    return blocking(OtherCall{.name = "MPI_File_write_at", .where = of_file(file), .elements = {count, type}},
                    [&] { return mpi_library::File_write_at(file, offset, data, count, type, status); });
}

DTRAIN_RECORDED(File_write_shared);
int MPI_File_write_shared(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
    return blocking(
        OtherCall{.name = "MPI_File_write_shared", .where = of_file(file), .elements = {count, type}},
        [&] { return mpi_library::File_write_shared(file, data, count, type, status); });
}
