// What compute and blit encoders share: MTLCommandEncoder. An encoder only appends commands to its
// command buffer's recording; it checks what it is told at once, while the program's call is at
// hand.
#pragma once

#include <string>

#include <Metal/MTLCommandEncoder.hpp>

#include "softmetal/api/command_buffer.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Buffer;

struct Encoder : objc::Object {
    Encoder(objc::Ref<CommandBuffer> buffer, EncoderKind kind, bool is_concurrent);
    ~Encoder();

    // False, and misuse, when the encoder has ended.
    bool is_open(const char* call);
    // False, and misuse, for what another device made.
    bool is_of_this_device(const char* call, const Device* maker);
    bool is_checked() const { return buffer->recording.checked; }
    void misuse(std::string what);
    void end_encoding();
    EncoderInfo& info() { return buffer->recording.encoders[index_]; }
    // "compute encoder 'label'"
    std::string described() const;
    // Makes the buffer outlive the commands; the memory to name in them.
    Allocation* hold(Buffer* used);

    void set_label(Object* text);
    void push_debug_group(Object* name);
    void pop_debug_group();
    void insert_debug_signpost(Object* text);

    const objc::Ref<CommandBuffer> buffer;
    objc::Ref<Object> label;

  private:
    const EncoderKind kind_;
    const uint32_t index_;  // into Recording::encoders
};

void register_encoder();

}  // namespace softmetal::api
