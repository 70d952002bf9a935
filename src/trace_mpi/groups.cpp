// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "trace_mpi/groups.hpp"

#include <algorithm>
#include <numeric>

#include "trace_mpi/group_names.hpp"

namespace dtrain::trace_mpi {
namespace {

bool is_identity(std::span<const int> ranks) {
    for (std::size_t at = 0; at < ranks.size(); ++at)
        if (ranks[at] != static_cast<int>(at)) return false;
    return true;
}

/// As ranks of MPI_COMM_WORLD; -1 for processes of another job.
std::vector<int> ranks_in_world(MPI_Group group, int size) {
    std::vector<int> own(static_cast<std::size_t>(size)), in_world(own.size());
    std::iota(own.begin(), own.end(), 0);
    MPI_Group world{};
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, own.data(), world, in_world.data());
    PMPI_Group_free(&world);
    std::ranges::replace(in_world, MPI_UNDEFINED, -1);
    return in_world;
}

bool is_inter(MPI_Comm comm) {
    int flag = 0;
    PMPI_Comm_test_inter(comm, &flag);
    return flag != 0;
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // all of it if there is no slash
}

}  // namespace

Groups::Groups(trace::OperationLog& log, int rank, int size) : log_(log) {
    add(key_of(MPI_COMM_WORLD), "MPI_COMM_WORLD", {.rank = rank, .size = size});
}

void Groups::confirm_world() {
    const auto members = members_of(MPI_COMM_WORLD);
    const std::lock_guard lock(mutex_);
    auto& world = *table_.find(key_of(MPI_COMM_WORLD));
    if (world.size != members.size) {
        world.index = log_.group(world.name, members.rank, members.size);
        world.size = members.size;
        ++groups_;
    }
    const auto own = std::vector{members.rank};
    add(key_of(MPI_COMM_SELF), "MPI_COMM_SELF@" + std::to_string(members.rank),
        {.rank = 0, .size = 1, .job_ranks = own});
}

Group& Groups::of(Where where) {
    if (auto* const known = table_.find(where.key)) return *known;
    return where.comm == MPI_COMM_NULL ? others() : add_unknown(where.comm);
}

void Groups::add_child(MPI_Comm parent, MPI_Comm made) {
    auto& from = of(of_comm(parent));
    const auto number = ++from.children;
    if (made == MPI_COMM_NULL) return;
    const auto members = members_of(made);
    const auto name = child_name(from.name, "", number, from.size, members.job_ranks);
    const std::lock_guard lock(mutex_);
    add(key_of(made), name, members, is_inter(made));
}

void Groups::add_by_ranks(std::string_view prefix, MPI_Comm made) {
    if (made == MPI_COMM_NULL) return;
    const auto members = members_of(made);
    const std::lock_guard lock(mutex_);
    add(key_of(made), name_by_ranks(prefix, members), members, is_inter(made));
}

void Groups::add_window(MPI_Comm parent, MPI_Win made) {
    add_part(key_of(made), of(of_comm(parent)), "window ");
}

void Groups::add_file(MPI_Comm parent, MPI_File made, std::string_view path) {
    constexpr std::size_t max_file_name = 40;
    add_part(key_of(made), of(of_comm(parent)),
             "file " + std::string(last_part(path).substr(0, max_file_name)) + " ");
}

void Groups::set_name(MPI_Comm comm, std::string_view name) {
    const auto& group = of(of_comm(comm));
    if (group.is_counted) log_.name_group(group.index, given_name(name, group.name));
}

void Groups::remove(Where where) {
    const std::lock_guard lock(mutex_);
    table_.remove(where.key);
}

Groups::Members Groups::members_of(MPI_Comm comm) {
    Members members;
    MPI_Group group{};
    PMPI_Comm_group(comm, &group);
    PMPI_Group_rank(group, &members.rank);
    PMPI_Group_size(group, &members.size);
    members.job_ranks = ranks_in_world(group, members.size);
    PMPI_Group_free(&group);
    return members;
}

/// Null if the table or the log have no room.
Group* Groups::add(std::uintptr_t key, const std::string& name, const Members& members, bool inter) {
    table_.remove(key);  // freed without this library's knowledge
    const bool has_own_ranks = !is_identity(members.job_ranks);
    const auto room = has_own_ranks ? members.job_ranks.size() : 0;
    // The log's last group stands for all for which it has no other.
    if (groups_ + 1 >= trace::log_groups || members_ + room > trace::log_members) return nullptr;
    return table_.add(key, [&](Group& group) {
        group.job_ranks = has_own_ranks ? members.job_ranks : std::vector<int>();
        group.index = log_.group(name, members.rank, members.size, group.job_ranks);
        group.is_counted = true;
        group.is_inter = inter;
        group.rank = members.rank;
        group.size = members.size;
        group.name = name;
        group.collectives = 0;
        group.children = 0;
        ++groups_;
        members_ += room;
    });
}

/// A window or file, which has the ranks of its communicator.
void Groups::add_part(std::uintptr_t key, Group& parent, const std::string& kind) {
    const auto name = child_name(parent.name, kind, ++parent.children, parent.size, {});
    const Members members{.rank = parent.rank, .size = parent.size, .job_ranks = parent.job_ranks};
    const std::lock_guard lock(mutex_);
    add(key, name, members);
}

Group& Groups::add_unknown(MPI_Comm comm) {
    const auto members = members_of(comm);
    Group* group = nullptr;
    {
        const std::lock_guard lock(mutex_);
        group = table_.find(key_of(comm));  // another thread may have been faster
        if (group == nullptr)
            group = add(key_of(comm), name_by_ranks("communicator", members), members, is_inter(comm));
    }
    return group != nullptr ? *group : others();
}

std::string Groups::name_by_ranks(std::string_view prefix, const Members& members) {
    auto name = std::string(prefix) + "@" + ranks_text(members.job_ranks);
    const auto number = ++made_by_ranks_[name];
    return number == 1 ? name : name + "/" + std::to_string(number);
}

Group& Groups::others() {
    std::call_once(has_others_, [&] { others_.index = log_.group("other communicators", 0, 0); });
    return others_;
}

}  // namespace dtrain::trace_mpi
