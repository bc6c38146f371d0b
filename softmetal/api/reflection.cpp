#include "softmetal/api/reflection.h"

#include <utility>

#include "softmetal/api/data_type.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {

objc::Ref<ComputePipelineReflection> make_reflection(std::shared_ptr<const KernelCode> code) {
    return objc::make<ComputePipelineReflection>(std::move(code));
}

namespace {

// MTLPointerType of a buffer argument.
struct PointerType : ReflectedArgument {
    using ReflectedArgument::ReflectedArgument;
};

objc::Object* name(ReflectedArgument* of) { return objc::string(of->argument->name); }
NS::UInteger index(ReflectedArgument* of) { return of->argument->index; }
NS::UInteger alignment(ReflectedArgument* of) { return of->argument->alignment; }
NS::UInteger bytes(ReflectedArgument* of) { return of->argument->bytes; }
bool yes(ReflectedArgument*) { return true; }

MTL::BindingAccess access(ReflectedArgument* of) {
    const bool writes = of->argument->kind == SM_ARGUMENT_BUFFER && !of->argument->is_read_only;
    return writes ? MTL::BindingAccessReadWrite : MTL::BindingAccessReadOnly;
}

MTL::DataType element_type(ReflectedArgument* of) {
    return data_type(element_name(of->argument->type));
}

PointerType* pointer_type(ReflectedArgument* of) {
    return objc::autoreleased(objc::make<PointerType>(of->code, of->argument));
}

MTL::BindingType binding_type(ReflectedArgument* of) {
    return of->argument->kind == SM_ARGUMENT_BUFFER ? MTL::BindingTypeBuffer
                                                    : MTL::BindingTypeThreadgroupMemory;
}

MTL::ArgumentType argument_type(ReflectedArgument* of) {
    return of->argument->kind == SM_ARGUMENT_BUFFER ? MTL::ArgumentTypeBuffer
                                                    : MTL::ArgumentTypeThreadgroupMemory;
}

objc::Object* arguments(ComputePipelineReflection* reflection) {
    std::vector<objc::Ref<objc::Object>> all;
    for (const auto* argument : reflection->code->arguments()) {
        all.push_back(objc::make<Argument>(reflection->code, argument));
    }
    return objc::autoreleased(objc::make_array(all));
}

objc::Object* bindings(ComputePipelineReflection* reflection) {
    std::vector<objc::Ref<objc::Object>> all;
    for (const auto* argument : reflection->code->arguments()) {
        if (argument->kind == SM_ARGUMENT_BUFFER) {
            all.push_back(objc::make<BufferBinding>(reflection->code, argument));
        } else {
            all.push_back(objc::make<ThreadgroupBinding>(reflection->code, argument));
        }
    }
    return objc::autoreleased(objc::make_array(all));
}

}  // namespace

// Not defined, so they stop by name: bufferStructType and elementStructType, because a module does
// not list the members of structs.
void register_reflection() {
    using objc::method;
    objc::define_class<PointerType>(
        "MTLPointerType",
        {
            method<+[](PointerType*) { return MTL::DataTypePointer; }>("dataType"),
            method<&element_type>("elementType"),
            method<&access>("access"),
            method<&alignment>("alignment"),
            method<&bytes>("dataSize"),
        });
    objc::define_class<Argument>(
        "MTLArgument", {
                           method<&name>("name"),
                           method<&argument_type>("type"),
                           method<&access>("access"),
                           method<&index>("index"),
                           method<&yes>("isActive"),
                           method<+[](Argument*) -> NS::UInteger { return 1; }>("arrayLength"),
                           method<&alignment>("bufferAlignment"),
                           method<&bytes>("bufferDataSize"),
                           method<&element_type>("bufferDataType"),
                           method<&pointer_type>("bufferPointerType"),
                           method<&alignment>("threadgroupMemoryAlignment"),
                           method<&bytes>("threadgroupMemoryDataSize"),
                       });
    objc::define_class<BufferBinding>("MTLBufferBinding",
                                      {
                                          method<&name>("name"),
                                          method<&binding_type>("type"),
                                          method<&access>("access"),
                                          method<&index>("index"),
                                          method<&yes>("isUsed"),
                                          method<&yes>("isArgument"),
                                          method<&alignment>("bufferAlignment"),
                                          method<&bytes>("bufferDataSize"),
                                          method<&element_type>("bufferDataType"),
                                          method<&pointer_type>("bufferPointerType"),
                                      });
    objc::define_class<ThreadgroupBinding>("MTLThreadgroupBinding",
                                           {
                                               method<&name>("name"),
                                               method<&binding_type>("type"),
                                               method<&access>("access"),
                                               method<&index>("index"),
                                               method<&yes>("isUsed"),
                                               method<&yes>("isArgument"),
                                               method<&alignment>("threadgroupMemoryAlignment"),
                                               method<&bytes>("threadgroupMemoryDataSize"),
                                           });
    objc::define_class<ComputePipelineReflection>("MTLComputePipelineReflection",
                                                  {
                                                      method<&arguments>("arguments"),
                                                      method<&bindings>("bindings"),
                                                  });
}

}  // namespace softmetal::api
