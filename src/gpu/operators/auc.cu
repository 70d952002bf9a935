// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "gpu/operators/integers.hpp"
#include "gpu/operators/sums.hpp"
#include "kernels/data_errors.hpp"

namespace dtrain::gpu {
namespace {

/// Numbers of any type; without a tensor, 1 for each row.
struct Numbers {
    const void* data = nullptr;
    DataType type = DataType::float32;

    ON_DEVICE double operator[](std::size_t i) const {
        if (data == nullptr) return 1;
        switch (type) {
            case DataType::float32:
                return static_cast<double>(static_cast<const float*>(data)[i]);
            case DataType::float64:
                return static_cast<const double*>(data)[i];
            case DataType::int64:
                return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
            case DataType::int32:
                return static_cast<double>(static_cast<const std::int32_t*>(data)[i]);
            default:
                return 0;  // tensors have no other type
        }
    }
};

Numbers numbers_of(const TensorView& tensor) {
    return {tensor.data, tensor.type};
}

struct CheckScores {
    Numbers scores;
    DeviceError error;

    ON_DEVICE void operator()(std::size_t i) const {
        const double score = scores[i];
        if (score >= 0 && score <= 1) return;
        long long bits = 0;
        memcpy(&bits, &score, sizeof(bits));
        error.report(static_cast<long long>(i), bits);
    }
};

/// Adds a batch's counts to one bin, in row order.
struct CountBin {
    Numbers scores;
    Numbers labels;
    Numbers weights;
    std::size_t rows;
    std::size_t bins;
    double min_positive;  ///< larger labels are positive
    double* positives;
    double* negatives;
    DeviceError error;

    ON_DEVICE void operator()(std::size_t bin) const {
        if (error.is_any()) return;
        double positive = positives[bin];
        double negative = negatives[bin];
        for (std::size_t i = 0; i < rows; ++i) {
            const auto at = static_cast<std::size_t>(scores[i] * static_cast<double>(bins));
            if ((at < bins ? at : bins - 1) != bin) continue;
            (labels[i] > min_positive ? positive : negative) += weights[i];
        }
        positives[bin] = positive;
        negatives[bin] = negative;
    }
};

/// kernels::area_under_curve(), computed for parts of the bins in parallel.
struct AreaUnderCurve {
    static constexpr std::size_t parts = 256;

    const double* positives;
    const double* negatives;
    std::size_t bins;
    double* of_parts;  ///< sum of the positives of each part
    float* out;

    ON_GPU void operator()(const Block& block) const {
        const std::size_t per_part = (bins + parts - 1) / parts;
        double all_positives = 0;
        double all_negatives = 0;
        for (std::size_t part = block.thread(); part < parts; part += block.threads()) {
            double sum = 0;
            for (std::size_t bin = part * per_part; bin < (part + 1) * per_part && bin < bins; ++bin) {
                sum += positives[bin];
                all_negatives += negatives[bin];
            }
            of_parts[part] = sum;
            all_positives += sum;
        }
        block.wait();
        double area = 0;
        for (std::size_t part = block.thread(); part < parts; part += block.threads()) {
            double above = 0;  // positives with higher scores
            for (std::size_t higher = parts; higher-- > part + 1;) above += of_parts[higher];
            const std::size_t end = (part + 1) * per_part < bins ? (part + 1) * per_part : bins;
            for (std::size_t bin = end; bin-- > part * per_part;) {
                area += negatives[bin] * (above + positives[bin] / 2);
                above += positives[bin];
            }
        }
        area = block.sum(area);
        all_positives = block.sum(all_positives);
        all_negatives = block.sum(all_negatives);
        if (block.thread() == 0)
            *out = all_positives > 0 && all_negatives > 0
                       ? static_cast<float>(area / (all_positives * all_negatives))
                       : 0.5F;
    }
};

std::unique_ptr<Kernel> make_auc(KernelContext& context, const KernelArguments& arguments) {
    const auto scores = numbers_of(arguments.input("scores"));
    const auto& label = arguments.input("label");
    const auto positives = arguments.out<double>("positives");
    const auto negatives = arguments.out<double>("negatives");
    const auto rows = arguments.input("scores").size();
    const auto memory = allocate(AreaUnderCurve::parts * sizeof(double));
    const CheckScores check{scores, context.error_of([](long long row, long long bits) {
                                double score = 0;
                                std::memcpy(&score, &bits, sizeof(score));
                                return kernels::score_outside(score, row);
                            })};
    const CountBin count{scores,
                         numbers_of(label),
                         arguments.has_input("weight") ? numbers_of(arguments.input("weight")) : Numbers{},
                         rows,
                         positives.size(),
                         is_integer(label.type) ? 0.0 : 0.5,
                         positives.data(),
                         negatives.data(),
                         context.any_error()};
    const AreaUnderCurve area{positives.data(), negatives.data(), positives.size(),
                              reinterpret_cast<double*>(memory.get()), arguments.out("out").data()};
    return kernels::kernel_of([&stream = context.stream, memory, check, count, area] {
        for_each(stream, count.rows, check);
        for_each(stream, count.bins, count);
        launch(stream, 1, AreaUnderCurve::parts, area);
    });
}

}  // namespace

Entries auc_kernels() {
    return {{"auc", make_auc}};
}

}  // namespace dtrain::gpu
