// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Lower bound for the time of a step of an MLP: its matrix products by oneDNN and nothing else.
//   bare_products small|big      prints steps per second
#include <cstdio>
#include <omp.h>
#include <span>
#include <vector>

#include <dnnl.hpp>

#include "mlp_sizes.hpp"
#include "steady_rate.hpp"

namespace {

using namespace dtrain::benchmarks;

/// The matrix products of one step; every product has its own matrices.
class Products {
  public:
    explicit Products(const MlpSizes& sizes) {
        auto inputs = sizes.features;
        auto layers = sizes.hidden;
        layers.push_back(sizes.classes);
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const auto outputs = layers[layer];
            add(sizes.batch, inputs, outputs, false, false);                // y = x w
            add(inputs, sizes.batch, outputs, true, false);                 // dw = x' dy
            if (layer > 0) add(sizes.batch, outputs, inputs, false, true);  // dx = dy w'
            inputs = outputs;
        }
    }

    void run() {
        for (auto& product : products_) product.primitive.execute(stream_, product.arguments);
        stream_.wait();
    }

  private:
    struct Product {
        dnnl::matmul primitive;
        std::unordered_map<int, dnnl::memory> arguments;
    };

    dnnl::memory::desc describe(std::int64_t rows, std::int64_t columns, bool transposed) const {
        return {{rows, columns},
                dnnl::memory::data_type::f32,
                transposed ? dnnl::memory::format_tag::ba : dnnl::memory::format_tag::ab};
    }

    dnnl::memory filled(const dnnl::memory::desc& description) {
        dnnl::memory memory(description, engine_);
        const std::span values(static_cast<float*>(memory.get_data_handle()),
                               description.get_size() / sizeof(float));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) * 0.01F;
        return memory;
    }

    void add(std::int64_t m, std::int64_t k, std::int64_t n, bool a_transposed, bool b_transposed) {
        const auto a = describe(m, k, a_transposed);
        const auto b = describe(k, n, b_transposed);
        const auto c = describe(m, n, false);
#if DNNL_VERSION_MAJOR < 3
        const dnnl::matmul::primitive_desc prepared(dnnl::matmul::desc(a, b, c), engine_);
#else
        const dnnl::matmul::primitive_desc prepared(engine_, a, b, c);
#endif
        products_.push_back(
            {dnnl::matmul(prepared),
             {{DNNL_ARG_SRC, filled(a)}, {DNNL_ARG_WEIGHTS, filled(b)}, {DNNL_ARG_DST, filled(c)}}});
    }

    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    std::vector<Product> products_;
};

}  // namespace

int main(int count, char** arguments) {
    omp_set_num_threads(1);
    Products products(mlp_sizes(count > 1 ? arguments[1] : "small"));
    std::printf("%.1f\n", steady_rate([&] { products.run(); }, [](double value) { return value; }));
}
