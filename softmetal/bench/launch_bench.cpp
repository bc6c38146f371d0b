// What launching costs through Metal's API: tiny dispatches, alone in a command buffer and many in
// one, by the device's checks. The best of several rounds, because other programs only ever make it
// slower.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <fmt/format.h>

#include <Metal/Metal.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "softmetal/control.h"

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

NS::String* text(const char* utf8) { return NS::String::string(utf8, NS::UTF8StringEncoding); }

constexpr const char* kSource = R"(
kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                device float* out [[buffer(2)]], constant uint& count [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < count) out[i] = a[i] + b[i];
}
)";

class Bench {
  public:
    Bench() {
        NS::Error* error = nullptr;
        library_ = NS::TransferPtr(device_->newLibrary(text(kSource), nullptr, &error));
        if (!library_) {
            fmt::print(stderr, "{}\n", error->localizedDescription()->utf8String());
            std::exit(1);
        }
        const auto function = NS::TransferPtr(library_->newFunction(text("add")));
        pipeline_ = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
        for (auto& buffer : buffers_) {
            buffer = NS::TransferPtr(device_->newBuffer(4096, MTL::ResourceStorageModeShared));
        }
    }

    void run(softmetal::Checks checks, const char* name) {
        softmetal::set_checks(device_.get(), checks);
        for (const int dispatches : {1, 10, 1000}) {
            double encode = 1e300, all = 1e300;
            for (int round = 0; round < 30; ++round) {
                const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
                const auto start = Clock::now();
                auto* commands = encoded(dispatches);
                encode = std::min(encode, microseconds_since(start));
                commands->commit();
                commands->waitUntilCompleted();
                all = std::min(all, microseconds_since(start));
            }
            fmt::print("checks {:6}, {:4} dispatches: {:.2f} us each, {:.2f} us of it encoding\n",
                       name, dispatches, all / dispatches, encode / dispatches);
        }
    }

  private:
    MTL::CommandBuffer* encoded(int dispatches) {
        auto* commands = queue_->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        for (int i = 0; i < dispatches; ++i) {
            const uint32_t count = 32;
            encoder->setComputePipelineState(pipeline_.get());
            for (NS::UInteger k = 0; k < 3; ++k) encoder->setBuffer(buffers_[k].get(), 0, k);
            encoder->setBytes(&count, sizeof count, 3);
            encoder->dispatchThreadgroups({1, 1, 1}, {32, 1, 1});
        }
        encoder->endEncoding();
        return commands;
    }

    NS::SharedPtr<MTL::Device> device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::SharedPtr<MTL::CommandQueue> queue_ = NS::TransferPtr(device_->newCommandQueue());
    NS::SharedPtr<MTL::Library> library_;
    NS::SharedPtr<MTL::ComputePipelineState> pipeline_;
    NS::SharedPtr<MTL::Buffer> buffers_[3];
};

}  // namespace

int main() {
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto bench = Bench();
    bench.run(softmetal::Checks::Off, "off");
    bench.run(softmetal::Checks::Bounds, "bounds");
    bench.run(softmetal::Checks::All, "all");
}
