// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/value.hpp"

#include "nn/eager_device.hpp"

namespace dtrain::eager {

TensorView Value::on_device() const {
    if (mirror) mirror->read_on_device();
    return view(memory.get());
}

void Value::note_written_on_device() const {
    if (mirror) mirror->note_written_on_device();
}

TensorView Value::on_host() const {
    return view(mirror ? mirror->read_on_host() : memory.get());
}

TensorView Value::host_to_write() const {
    return view(mirror ? mirror->write_on_host() : memory.get());
}

TensorView Value::host_to_fill() const {
    return view(mirror ? mirror->fill_on_host() : memory.get());
}

void Value::start_reading_to_host() const {
    if (mirror) mirror->start_reading_to_host();
}

Value make_value(const Shape& shape, DataType type) {
    if (!is_tensor_type(type)) throw DataTypeError("a tensor", type, expected_of_tensors);
    return own_device().make_value(shape, type);
}

}  // namespace dtrain::eager
