#include "softmetal/objc/foundation/dispatch_data.h"

#include <cstdlib>
#include <string>

#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {
namespace {

struct DispatchData : Object {
    std::string owned;  // the bytes themselves, when they were copied
    std::string_view bytes;
    Ref<DispatchData> whole;  // where the bytes lie, when this is a part or a view
    bool free_it = false;
    Block<void()> destructor;

    DispatchData() = default;
    ~DispatchData() {
        if (free_it) std::free(const_cast<char*>(bytes.data()));
        if (destructor) destructor();
    }
};

const DispatchData* from(dispatch_data_t data) { return reinterpret_cast<DispatchData*>(data); }
dispatch_data_t hand_over(Ref<DispatchData> data) {
    return reinterpret_cast<dispatch_data_t>(data.leak());
}

Ref<DispatchData> copied(std::string bytes) {
    Ref<DispatchData> data = make<DispatchData>();
    data->owned = std::move(bytes);
    data->bytes = data->owned;
    return data;
}

// Objects only own their bytes in one piece, so a view just keeps its whole.
Ref<DispatchData> view(const DispatchData* data, std::string_view bytes) {
    Ref<DispatchData> part = make<DispatchData>();
    part->whole = Ref<DispatchData>::retaining(const_cast<DispatchData*>(data));
    part->bytes = bytes;
    return part;
}

}  // namespace

std::string_view bytes_of(dispatch_data_t data) { return data ? from(data)->bytes : ""; }

void register_dispatch_data() { define_class<DispatchData>("OS_dispatch_data", {}); }

}  // namespace softmetal::objc

namespace rt = softmetal::objc;

// Only its address matters.
dispatch_block_t softmetal_dispatch_data_free() {
    static const dispatch_block_t marker = ^{
    };
    return marker;
}

dispatch_data_t dispatch_data_create(const void* bytes, size_t size, dispatch_queue_t,
                                     dispatch_block_t destructor) {
    if (!bytes && size) rt::stop("dispatch_data_create: %zu bytes at a null address", size);
    const std::string_view view(static_cast<const char*>(bytes), size);
    if (!destructor) return rt::hand_over(rt::copied(std::string(view)));
    auto data = rt::make<rt::DispatchData>();
    data->bytes = view;
    data->free_it = destructor == DISPATCH_DATA_DESTRUCTOR_FREE;
    if (!data->free_it) data->destructor = rt::Block<void()>(destructor);
    return rt::hand_over(std::move(data));
}

size_t dispatch_data_get_size(dispatch_data_t data) { return rt::bytes_of(data).size(); }

dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void** bytes, size_t* size) {
    const std::string_view all = rt::bytes_of(data);
    if (bytes) *bytes = all.data();
    if (size) *size = all.size();
    return rt::hand_over(rt::view(rt::from(data), all));
}

dispatch_data_t dispatch_data_create_concat(dispatch_data_t first, dispatch_data_t second) {
    return rt::hand_over(rt::copied(std::string(rt::bytes_of(first)).append(rt::bytes_of(second))));
}

dispatch_data_t dispatch_data_create_subrange(dispatch_data_t data, size_t offset, size_t size) {
    const std::string_view all = rt::bytes_of(data);
    if (offset > all.size()) offset = all.size();
    return rt::hand_over(rt::view(rt::from(data), all.substr(offset, size)));
}
