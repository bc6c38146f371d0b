#include "softmetal/api/function_constants.h"

#include <algorithm>
#include <utility>

#include "softmetal/api/data_type.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {
namespace {

void set(FunctionConstantValues* constants, exec::ConstantValue value) {
    const auto same = std::ranges::find_if(constants->values, [&](const auto& other) {
        return other.name == value.name && other.index == value.index;
    });
    if (same != constants->values.end()) {
        *same = std::move(value);
    } else {
        constants->values.push_back(std::move(value));
    }
}

std::string copied(const void* value, uint32_t bytes) {
    return {static_cast<const char*>(value), bytes};
}

uint32_t bytes_of(MTL::DataType type) {
    const uint32_t bytes = constant_bytes(type);
    if (bytes == 0) {
        objc::stop("MTLFunctionConstantValues: a function constant cannot have MTLDataType %lu",
                   static_cast<unsigned long>(type));
    }
    return bytes;
}

void set_at_index(FunctionConstantValues* constants, const void* value, MTL::DataType type,
                  NS::UInteger index) {
    set(constants, {.index = static_cast<uint32_t>(index),
                    .type = static_cast<uint32_t>(type),
                    .bytes = copied(value, bytes_of(type))});
}

void set_with_name(FunctionConstantValues* constants, const void* value, MTL::DataType type,
                   objc::Object* name) {
    set(constants, {.name = std::string(objc::text_of(name)),
                    .type = static_cast<uint32_t>(type),
                    .bytes = copied(value, bytes_of(type))});
}

void set_with_range(FunctionConstantValues* constants, const void* values, MTL::DataType type,
                    NS::Range range) {
    const auto* at = static_cast<const std::byte*>(values);
    for (NS::UInteger i = 0; i < range.length; ++i, at += bytes_of(type)) {
        set_at_index(constants, at, type, range.location + i);
    }
}

FunctionConstantValues* copy(FunctionConstantValues* from) {
    auto made = objc::make<FunctionConstantValues>();
    made->values = from->values;
    return made.leak();
}

}  // namespace

void register_function_constants() {
    using objc::method;
    objc::define_class<FunctionConstantValues>(
        "MTLFunctionConstantValues",
        {
            objc::allocatable<FunctionConstantValues>(),
            method<&set_at_index>("setConstantValue:type:atIndex:"),
            method<&set_with_name>("setConstantValue:type:withName:"),
            method<&set_with_range>("setConstantValues:type:withRange:"),
            method<+[](FunctionConstantValues* c) { c->values.clear(); }>("reset"),
            method<&copy>("copy"),
        });
}

}  // namespace softmetal::api
