// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/matrix_product.hpp"

#include <algorithm>
#include <cstddef>
#include <cublasLt.h>
#include <string>

#include <dtrain/error.hpp>

#include "gpu/cuda/handles.hpp"
#include "gpu/memory.hpp"

namespace dtrain::gpu {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;  // NVIDIA's recommendation for Hopper

void check_cublas(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error("the GPU failed in " + std::string(what) + ": " + cublasLtGetStatusString(status));
}

struct FreeLayout {
    void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
struct FreeProduct {
    void operator()(cublasLtMatmulDesc_t product) const { cublasLtMatmulDescDestroy(product); }
};
struct FreePreference {
    void operator()(cublasLtMatmulPreference_t preference) const {
        cublasLtMatmulPreferenceDestroy(preference);
    }
};
template <class Handle, class Free>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Free>;
using Layout = Owned<cublasLtMatrixLayout_t, FreeLayout>;

cudaDataType_t cuda_type(DataType type) {
    switch (type) {
        case DataType::float32:
            return CUDA_R_32F;
        case DataType::float64:
            return CUDA_R_64F;
        case DataType::bfloat16:
            return CUDA_R_16BF;
        case DataType::float16:
            return CUDA_R_16F;
        default:
            break;
    }
    throw DataTypeError("a matrix product", type, "float32, float64, bfloat16 or float16");
}

// cuBLAS uses column-major order: it sees a row-major matrix as its transpose.
Layout layout_of(const MatrixOnGpu& matrix, cudaDataType_t type) {
    const auto [rows, columns] =
        matrix.transposed ? std::pair(matrix.rows, matrix.columns) : std::pair(matrix.columns, matrix.rows);
    cublasLtMatrixLayout_t layout = nullptr;
    check_cublas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
    return Layout(layout);
}

std::uint32_t alignment_of(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address);
    return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & (~bits + 1), 256));
}

cublasLtEpilogue_t epilogue_of(Finish finish) {
    return finish == Finish::nothing    ? CUBLASLT_EPILOGUE_DEFAULT
           : finish == Finish::add_bias ? CUBLASLT_EPILOGUE_BIAS
                                        : CUBLASLT_EPILOGUE_RELU_BIAS;
}

}  // namespace

struct ProductLibrary::Content {
    Content() { check_cublas(cublasLtCreate(&handle), "cublasLtCreate"); }
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content() { cublasLtDestroy(handle); }

    cublasLtHandle_t handle = nullptr;
    DeviceMemory workspace = allocate(workspace_bytes);
};

ProductLibrary::ProductLibrary() : content_(std::make_unique<Content>()) {}
ProductLibrary::~ProductLibrary() = default;

struct MatrixProduct::Content {
    ProductLibrary::Content& library;
    MatrixOnGpu a;
    MatrixOnGpu b;
    MatrixOnGpu out;
    bool is_double;
    Layout layout_a;
    Layout layout_b;
    Layout layout_out;
    Owned<cublasLtMatmulDesc_t, FreeProduct> product = nullptr;
    cublasLtMatmulAlgo_t algorithm{};

    void describe(Finish finish, const void* bias) {
        cublasLtMatmulDesc_t made = nullptr;
        check_cublas(cublasLtMatmulDescCreate(&made, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                              is_double ? CUDA_R_64F : CUDA_R_32F),
                     "cublasLtMatmulDescCreate");
        product.reset(made);
        // out' = b' a', see layout_of()
        set(CUBLASLT_MATMUL_DESC_TRANSA, b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        set(CUBLASLT_MATMUL_DESC_TRANSB, a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(finish));
        if (finish != Finish::nothing) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }

    void choose_algorithm() {
        cublasLtMatmulPreference_t made = nullptr;
        check_cublas(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
        const Owned<cublasLtMatmulPreference_t, FreePreference> preference(made);
        const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
            check_cublas(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value)),
                         "cublasLtMatmulPreferenceSetAttribute");
        };
        prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(b.data));
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(a.data));
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(out.data));
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(out.data));
        cublasLtMatmulHeuristicResult_t found{};
        int count = 0;
        check_cublas(
            cublasLtMatmulAlgoGetHeuristic(library.handle, product.get(), layout_b.get(), layout_a.get(),
                                           layout_out.get(), layout_out.get(), made, 1, &found, &count),
            "cublasLtMatmulAlgoGetHeuristic");
        if (count == 0)
            throw Error("cuBLAS multiplies no matrices of " + std::to_string(a.rows) + " x " +
                        std::to_string(a.columns) + " and " + std::to_string(b.rows) + " x " +
                        std::to_string(b.columns));
        algorithm = found.algo;
    }

    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
        check_cublas(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof(value)),
                     "cublasLtMatmulDescSetAttribute");
    }
};

MatrixProduct::MatrixProduct(ProductLibrary& library, MatrixOnGpu a, MatrixOnGpu b, MatrixOnGpu out,
                             DataType type, Finish finish, const void* bias) {
    const bool is_double = type == DataType::float64;
    content_ = std::make_unique<Content>(library.content(), a, b, out, is_double,
                                         layout_of(a, cuda_type(type)), layout_of(b, cuda_type(type)),
                                         layout_of(out, is_double ? CUDA_R_64F : CUDA_R_32F));
    content_->describe(finish, bias);
    content_->choose_algorithm();
}

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::run(const Stream& stream) const {
    constexpr float one = 1;
    constexpr float zero = 0;
    constexpr double one_double = 1;
    constexpr double zero_double = 0;
    const auto& my = *content_;
    const auto* alpha = my.is_double ? static_cast<const void*>(&one_double) : &one;
    const auto* beta = my.is_double ? static_cast<const void*>(&zero_double) : &zero;
    check_cublas(cublasLtMatmul(my.library.handle, my.product.get(), alpha, my.b.data, my.layout_b.get(),
                                my.a.data, my.layout_a.get(), beta, my.out.data, my.layout_out.get(),
                                my.out.data, my.layout_out.get(), &my.algorithm, my.library.workspace.get(),
                                workspace_bytes, cuda(stream)),
                 "cublasLtMatmul");
}

}  // namespace dtrain::gpu
