#include "softmetal/objc/foundation/data.h"

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {
namespace {

void* mutable_bytes(Data* self) { return self->bytes.data(); }
uintptr_t length(Data* self) { return self->bytes.size(); }
bool is_equal(Data* self, Object* object) {
    const auto* other = as<Data>(object);
    return other && other->bytes == self->bytes;
}
uintptr_t hash(Data* self) { return std::hash<std::string>()(self->bytes); }
// Its bytes can be written through, so a copy has its own.
Object* copy(Data* self) { return make<Data>(self->bytes).leak(); }

}  // namespace

void register_data() {
    define_class<Data>("NSData", {
                                     allocatable<Data>(),
                                     method<&mutable_bytes>("mutableBytes"),
                                     method<&mutable_bytes>("bytes"),
                                     method<&length>("length"),
                                     method<&is_equal>("isEqual:"),
                                     method<&hash>("hash"),
                                     method<&copy>("copy"),
                                 });
}

}  // namespace softmetal::objc
