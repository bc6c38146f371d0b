// A tour of Metal from C++, with nothing but Apple's metal-cpp: the same program runs on a Mac and,
// linked with softmetal, on Linux. It compiles a library from source, loads one that was built
// before, runs three kernels, and checks each result against one computed here.
//
//   tour LIBRARY      tour.smlib made by mslc, or tour.metallib made by Apple's tools
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

// A program's own text in the shading language. `scale` is set when the function is made, and
// OFFSET when the library is.
constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;

constant float scale [[function_constant(0)]];

kernel void add_scaled(device const float* a [[buffer(0)]],
                       device const float* b [[buffer(1)]],
                       device float* out [[buffer(2)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + scale * b[i] + OFFSET;
}
)";

NS::String* text(const char* utf8) { return NS::String::string(utf8, NS::UTF8StringEncoding); }

// Ends the program: a tour has nobody to hand an error to.
template <class T>
NS::SharedPtr<T> must(T* made, const char* what, const NS::Error* error) {
    if (made != nullptr) return NS::TransferPtr(made);
    std::fprintf(stderr, "tour: %s: %s\n", what,
                 error ? error->localizedDescription()->utf8String() : "not there");
    std::exit(2);
}

class Tour {
  public:
    explicit Tour(const char* library_path)
        : device_(must(MTL::CreateSystemDefaultDevice(), "device", nullptr)),
          queue_(must(device_->newCommandQueue(), "queue", nullptr)) {
        NS::Error* error = nullptr;
        const auto* url = NS::URL::fileURLWithPath(text(library_path));
        prebuilt_ = must(device_->newLibrary(url, &error), library_path, error);
    }

    // True when everything came out as it should.
    bool run() {
        std::printf("device has unified memory: %s\n", device_->hasUnifiedMemory() ? "yes" : "no");
        const bool sums = add_vectors();
        const bool reduces = reduce();
        const bool multiplies = multiply();
        return sums && reduces && multiplies;
    }

  private:
    using Pipeline = NS::SharedPtr<MTL::ComputePipelineState>;
    using Buffer = NS::SharedPtr<MTL::Buffer>;

    Pipeline pipeline(const NS::SharedPtr<MTL::Function>& function) {
        NS::Error* error = nullptr;
        return must(device_->newComputePipelineState(function.get(), &error), "pipeline", error);
    }
    Pipeline prebuilt(const char* name) {
        return pipeline(must(prebuilt_->newFunction(text(name)), name, nullptr));
    }
    Buffer buffer(const std::vector<float>& values) {
        return must(device_->newBuffer(values.data(), values.size() * sizeof(float),
                                       MTL::ResourceStorageModeShared),
                    "buffer", nullptr);
    }
    Buffer buffer(size_t floats) {
        return must(device_->newBuffer(floats * sizeof(float), MTL::ResourceStorageModeShared),
                    "buffer", nullptr);
    }
    static float at(const Buffer& buffer, size_t index) {
        return static_cast<const float*>(buffer->contents())[index];
    }

    // Commits what `encode` put into a compute encoder, and waits for it.
    template <class Encode>
    void compute(Encode encode) {
        auto* commands = queue_->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encode(encoder);
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
        if (commands->status() == MTL::CommandBufferStatusCompleted) return;
        std::fprintf(stderr, "tour: %s\n", commands->error()->localizedDescription()->utf8String());
        std::exit(2);
    }

    static bool report(const char* what, double found, double expected) {
        const bool is_right = found == expected;
        std::printf("%-24s %14.1f   expected %14.1f   %s\n", what, found, expected,
                    is_right ? "ok" : "WRONG");
        return is_right;
    }

    // A library from source, with a macro and a function constant; one thread per element.
    bool add_vectors() {
        const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
        const NS::Object* names[] = {text("OFFSET")};
        const NS::Object* values[] = {text("0.5f")};
        options->setPreprocessorMacros(NS::Dictionary::dictionary(values, names, 1));
        NS::Error* error = nullptr;
        const auto library =
            must(device_->newLibrary(text(kSource), options.get(), &error), "source", error);

        const float scale = 10;
        const auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
        constants->setConstantValue(&scale, MTL::DataTypeFloat, text("scale"));
        const auto add = pipeline(must(
            library->newFunction(text("add_scaled"), constants.get(), &error), "function", error));

        constexpr size_t kCount = 1000;  // no multiple of a threadgroup: the last one is smaller
        std::vector<float> a(kCount), b(kCount);
        for (size_t i = 0; i < kCount; ++i) {
            a[i] = static_cast<float>(i);
            b[i] = static_cast<float>(i % 10);
        }
        const auto in_a = buffer(a), in_b = buffer(b), out = buffer(kCount);
        compute([&](MTL::ComputeCommandEncoder* encoder) {
            encoder->setComputePipelineState(add.get());
            encoder->setBuffer(in_a.get(), 0, 0);
            encoder->setBuffer(in_b.get(), 0, 1);
            encoder->setBuffer(out.get(), 0, 2);
            encoder->dispatchThreads({kCount, 1, 1}, {64, 1, 1});
        });
        bool is_right = true;
        for (size_t i = 0; i < kCount; ++i) is_right &= at(out, i) == a[i] + scale * b[i] + 0.5f;
        return report("add: last element", at(out, kCount - 1), 999 + 10 * 9 + 0.5) && is_right;
    }

    // Two dispatches of a kernel from the prebuilt library: many values to 16 sums, 16 sums to one.
    bool reduce() {
        const auto sum = prebuilt("sum");
        constexpr uint32_t kCount = 100000, kGroups = 16, kThreads = 256;
        std::vector<float> values(kCount);
        double expected = 0;
        for (uint32_t i = 0; i < kCount; ++i) {
            values[i] = static_cast<float>(i % 7);
            expected += values[i];
        }
        const auto in = buffer(values), sums = buffer(kGroups), out = buffer(1);
        compute([&](MTL::ComputeCommandEncoder* encoder) {
            encoder->setComputePipelineState(sum.get());
            encoder->setThreadgroupMemoryLength(kThreads / 32 * sizeof(float), 0);
            encoder->setBuffer(in.get(), 0, 0);
            encoder->setBuffer(sums.get(), 0, 1);
            encoder->setBytes(&kCount, sizeof kCount, 2);
            encoder->dispatchThreadgroups({kGroups, 1, 1}, {kThreads, 1, 1});
            encoder->setBuffer(sums.get(), 0, 0);
            encoder->setBuffer(out.get(), 0, 1);
            encoder->setBytes(&kGroups, sizeof kGroups, 2);
            encoder->dispatchThreadgroups({1, 1, 1}, {32, 1, 1});
        });
        return report("sum of 100000 values", at(out, 0), expected);
    }

    // Tiles on SIMD-group matrices. The values are small whole numbers, so that sums are exact.
    bool multiply() {
        const auto multiply = prebuilt("multiply");
        const struct {
            uint32_t rows, columns, inner;
        } shape = {.rows = 64, .columns = 96, .inner = 128};
        std::vector<float> a(shape.rows * shape.inner), b(shape.inner * shape.columns);
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5) - 2;
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 3) - 1;

        const auto in_a = buffer(a), in_b = buffer(b), out = buffer(shape.rows * shape.columns);
        compute([&](MTL::ComputeCommandEncoder* encoder) {
            encoder->setComputePipelineState(multiply.get());
            encoder->setBuffer(in_a.get(), 0, 0);
            encoder->setBuffer(in_b.get(), 0, 1);
            encoder->setBuffer(out.get(), 0, 2);
            encoder->setBytes(&shape, sizeof shape, 3);
            encoder->dispatchThreadgroups({shape.columns / 32, shape.rows / 32, 1}, {128, 1, 1});
        });
        bool is_right = true;
        double sum = 0, expected_sum = 0;
        for (uint32_t row = 0; row < shape.rows; ++row) {
            for (uint32_t column = 0; column < shape.columns; ++column) {
                float expected = 0;
                for (uint32_t k = 0; k < shape.inner; ++k) {
                    expected += a[row * shape.inner + k] * b[k * shape.columns + column];
                }
                const float found = at(out, row * shape.columns + column);
                is_right &= found == expected;
                sum += std::fabs(found);
                expected_sum += std::fabs(expected);
            }
        }
        return report("product: sum of |c|", sum, expected_sum) && is_right;
    }

    NS::SharedPtr<MTL::Device> device_;
    NS::SharedPtr<MTL::CommandQueue> queue_;
    NS::SharedPtr<MTL::Library> prebuilt_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: tour LIBRARY\n", stderr);
        return 2;
    }
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    const bool is_right = Tour(argv[1]).run();
    std::puts(is_right ? "all as expected" : "NOT as expected");
    return is_right ? 0 : 1;
}
