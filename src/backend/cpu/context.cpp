#include "backend/cpu/context.h"

#include <utility>

#include "graph/graph.h"

namespace minfer::cpu {
namespace {

template <class T>
T* typed(const BufferPool& pool, const BufRef& ref) {
    auto* const data = pool.view(ref).data();
    MINFER_ASSERT(reinterpret_cast<uintptr_t>(data) % alignof(T) == 0);
    return reinterpret_cast<T*>(data);
}

template <class T>
Result<const T*> input(const BufferPool& pool, const Call& call, size_t source, size_t count) {
    if (source >= call.in.size())
        return fail(Fault::BadInput, "has {} sources, source {} is needed", call.in.size(), source);
    if (call.in[source].bytes / sizeof(T) < count)
        return fail(Fault::BadInput, "source {} has {} bytes, {} elements need {}", source,
                    call.in[source].bytes, count, count * sizeof(T));
    return typed<T>(pool, call.in[source]);
}

}  // namespace

Result<const float*> Context::floats_in(const Call& call, size_t source, size_t count) const {
    return input<float>(pool, call, source, count);
}

Result<const int32_t*> Context::ints_in(const Call& call, size_t source, size_t count) const {
    return input<int32_t>(pool, call, source, count);
}

Result<float*> Context::floats_out(const Call& call, size_t count) const {
    if (call.out.bytes / sizeof(float) < count)
        return fail(Fault::BadInput, "output has {} bytes, {} elements need {}", call.out.bytes,
                    count, count * sizeof(float));
    return typed<float>(pool, call.out);
}

Result<const Weight*> Context::weight(const Call& call, size_t index) const {
    if (index >= call.weights.size() || std::to_underlying(call.weights[index]) >= weights.size()) {
        const auto names = op_weights(call.node->op);
        return fail(Fault::NotFound, "weight '{}' is not registered",
                    index < names.size() ? names[index] : "?");
    }
    return &weights[call.weights[index]];
}

Result<const float*> Context::vector_weight(const Call& call, size_t index, size_t count) const {
    const auto* const found = MINFER_TRY(weight(call, index));
    if (found->dtype != DType::F32 || elements(found->shape) != count)
        return fail(Fault::BadInput, "weight '{}' is {} of {} elements, F32 of {} is needed",
                    found->name, minfer::name(found->dtype), elements(found->shape), count);
    return reinterpret_cast<const float*>(found->data.data());
}

}  // namespace minfer::cpu
