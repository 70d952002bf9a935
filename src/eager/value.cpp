// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "eager/value.hpp"

#include "eager/place.hpp"

namespace dtrain::eager {

TensorView Value::there() const {
    if (mirror) mirror->read_there();
    return view(memory.get());
}

void Value::note_written_there() const {
    if (mirror) mirror->note_written_there();
}

TensorView Value::here() const {
    return view(mirror ? mirror->read_here() : memory.get());
}

TensorView Value::here_to_write() const {
    return view(mirror ? mirror->write_here() : memory.get());
}

TensorView Value::here_to_fill() const {
    return view(mirror ? mirror->fill_here() : memory.get());
}

void Value::start_reading_here() const {
    if (mirror) mirror->start_reading_here();
}

Value make_value(const Shape& shape, DataType type) {
    return place().make_value(shape, type);
}

}  // namespace dtrain::eager
