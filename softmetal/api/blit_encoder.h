// MTLBlitCommandEncoder: copies and fills between buffers.
#pragma once

#include <Metal/MTLBlitCommandEncoder.hpp>

#include "softmetal/api/encoder.h"

namespace softmetal::api {

struct BlitPassDescriptor : objc::Object {};

struct BlitEncoder : Encoder {
    explicit BlitEncoder(objc::Ref<CommandBuffer> on)
        : Encoder(std::move(on), EncoderKind::Blit, /*is_concurrent=*/false) {}

    void copy(Buffer* from, NS::UInteger from_offset, Buffer* to, NS::UInteger to_offset,
              NS::UInteger bytes);
    void fill(Buffer* used, NS::Range range, uint8_t value);
    void synchronize(Object* resource);

  private:
    bool covers(const char* call, Buffer* used, uint64_t offset, uint64_t bytes);
};

// Methods of MTLCommandBuffer.
BlitEncoder* blit_encoder(CommandBuffer* buffer);
BlitEncoder* blit_encoder_with_descriptor(CommandBuffer* buffer, BlitPassDescriptor* descriptor);

void register_blit_encoder();

}  // namespace softmetal::api
