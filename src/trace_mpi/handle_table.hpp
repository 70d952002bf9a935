// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dtrain::trace_mpi {

/// Handles of Open MPI are pointers, those of MPICH are integers; no two kinds share a value, and none is 0
/// or 1.
template <class Handle>
std::uintptr_t key_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<std::uintptr_t>(handle);
    else
        return static_cast<std::make_unsigned_t<Handle>>(handle);
}

/// Values by key. Reading takes no lock, since every call of MPI reads; one thread at a time may change it.
template <class Value, std::size_t size>
class HandleTable {
    static_assert((size & (size - 1)) == 0, "a power of two");

  public:
    Value* find(std::uintptr_t key) {
        for (std::size_t probe = 0; probe < size; ++probe) {
            auto& slot = slot_at(key, probe);
            const auto found = slot.key.load(std::memory_order_acquire);
            if (found == key) return &slot.value;
            if (found == empty) break;
        }
        return nullptr;
    }

    /// @param fill gives the value its content before other threads find it
    /// @returns null if there is no room
    template <class Fill>
    Value* add(std::uintptr_t key, const Fill& fill) {
        if (used_ >= size / 4 * 3) return nullptr;
        for (std::size_t probe = 0; probe < size; ++probe) {
            auto& slot = slot_at(key, probe);
            const auto found = slot.key.load(std::memory_order_relaxed);
            if (found != empty && found != removed) continue;
            fill(slot.value);
            slot.key.store(key, std::memory_order_release);
            ++used_;
            return &slot.value;
        }
        return nullptr;
    }

    void remove(std::uintptr_t key) {
        for (std::size_t probe = 0; probe < size; ++probe) {
            auto& slot = slot_at(key, probe);
            const auto found = slot.key.load(std::memory_order_relaxed);
            if (found == empty) return;
            if (found != key) continue;
            slot.key.store(removed, std::memory_order_release);
            --used_;
            return;
        }
    }

  private:
    static constexpr std::uintptr_t empty = 0, removed = 1;

    struct Slot {
        std::atomic<std::uintptr_t> key{empty};
        Value value{};
    };

    Slot& slot_at(std::uintptr_t key, std::size_t probe) {
        constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // Knuth's multiplicative hash
        return slots_[((key * golden >> 32) + probe) % size];
    }

    std::array<Slot, size> slots_;
    std::size_t used_ = 0;
};

}  // namespace dtrain::trace_mpi
