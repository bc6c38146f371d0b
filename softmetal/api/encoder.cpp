#include "softmetal/api/encoder.h"

#include <fmt/format.h>

#include <utility>

#include "softmetal/api/buffer.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {

Encoder::Encoder(objc::Ref<CommandBuffer> on, EncoderKind kind, bool is_concurrent)
    : buffer(std::move(on)),
      kind_(kind),
      index_(static_cast<uint32_t>(buffer->recording.encoders.size())) {
    buffer->recording.encoders.push_back({.kind = kind, .is_concurrent = is_concurrent});
    buffer->add(BeginEncoder{.encoder = index_});
    buffer->open(this);
}

Encoder::~Encoder() {
    if (!buffer->is_open(this)) return;
    misuse("released without endEncoding");
    buffer->close();
}

bool Encoder::is_open(const char* call) {
    if (buffer->is_open(this)) return true;
    buffer->misuse(fmt::format("{}: {} after {}", described(), call,
                               buffer->is_committed() ? "commit" : "endEncoding"));
    return false;
}

bool Encoder::is_of_this_device(const char* call, const Device* maker) {
    if (maker == buffer->queue->device.get()) return true;
    misuse(fmt::format("{}: the argument belongs to another device", call));
    return false;
}

void Encoder::misuse(std::string what) { buffer->misuse(fmt::format("{}: {}", described(), what)); }

std::string Encoder::described() const {
    const auto name = objc::text_of(label.get());
    const char* kind = kind_ == EncoderKind::Compute ? "compute encoder" : "blit encoder";
    return name.empty() ? kind : fmt::format("{} '{}'", kind, name);
}

Allocation* Encoder::hold(Buffer* used) {
    buffer->hold(used->memory, used);
    return used->memory.get();
}

void Encoder::end_encoding() {
    if (!is_open("endEncoding")) return;
    buffer->add(EndEncoder{});
    buffer->close();
}

void Encoder::set_label(Object* text) {
    label = objc::copy_of(text);
    if (buffer->is_open(this)) info().label = objc::text_of(text);
}

void Encoder::push_debug_group(Object* name) {
    if (is_open("pushDebugGroup"))
        buffer->add(PushDebugGroup{.name = std::string(objc::text_of(name))});
}

void Encoder::pop_debug_group() {
    if (is_open("popDebugGroup")) buffer->add(PopDebugGroup{});
}

void Encoder::insert_debug_signpost(Object* text) {
    if (!is_open("insertDebugSignpost")) return;
    info().signposts.emplace_back(objc::text_of(text));
    buffer->add(DebugSignpost{.text = std::string(objc::text_of(text))});
}

void register_encoder() {
    using objc::method;
    objc::define_class<Encoder>(
        "MTLCommandEncoder",
        {
            method<+[](Encoder* e) { return e->buffer->queue->device.get(); }>("device"),
            objc::property<&Encoder::label>("label"),
            method<&Encoder::set_label>("setLabel:"),
            method<&Encoder::end_encoding>("endEncoding"),
            method<&Encoder::push_debug_group>("pushDebugGroup:"),
            method<&Encoder::pop_debug_group>("popDebugGroup"),
            method<&Encoder::insert_debug_signpost>("insertDebugSignpost:"),
        });
}

}  // namespace softmetal::api
