#include "softmetal/api/function.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "softmetal/api/errors.h"
#include "softmetal/api/library.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {

Function::Function(const Library& library, std::string called, std::shared_ptr<const Unit> from,
                   Result<std::shared_ptr<KernelCode>> made)
    : device(library.device),
      name(std::move(called)),
      unit(std::move(from)),
      max_threads(library.max_threads),
      code(std::move(made)) {}

namespace {

struct FunctionConstant : objc::Object {
    objc::Ref<objc::String> name;
    MTL::DataType type = MTL::DataTypeNone;
    NS::UInteger index = 0;
    bool is_required = false;
};

struct Failed {
    MTL::LibraryError code;
    std::string why;
};

std::expected<objc::Ref<Function>, Failed> make_function(Library* library, std::string_view name,
                                                         FunctionConstantValues* constants) {
    const auto unit = library->unit_of.find(std::string(name));
    if (unit == library->unit_of.end()) {
        return std::unexpected(Failed{MTL::LibraryErrorFunctionNotFound,
                                      fmt::format("the library has no function '{}'", name)});
    }
    auto values = constants ? constants->values : std::vector<exec::ConstantValue>();
    auto code = KernelCode::make(unit->second, name, std::move(values));
    if (!code && constants) {
        return std::unexpected(Failed{MTL::LibraryErrorCompileFailure, code.error()});
    }
    return objc::make<Function>(*library, std::string(name), unit->second, std::move(code));
}

std::expected<objc::Ref<Function>, Failed> make_described(Library* library,
                                                          FunctionDescriptor* descriptor) {
    auto made =
        make_function(library, objc::text_of(descriptor->name.get()), descriptor->constants.get());
    if (made && descriptor->specialized_name) (*made)->label = descriptor->specialized_name;
    return made;
}

objc::Ref<objc::Error> error_of(const Failed& failed) {
    return make_error(MTLLibraryErrorDomain, static_cast<int64_t>(failed.code), failed.why);
}

Function* handed_out(std::expected<objc::Ref<Function>, Failed> made, objc::Object** error) {
    if (made) return made->leak();
    objc::set_error(error, error_of(made.error()));
    return nullptr;
}

// Runs `make` in the background and tells the handler.
template <class Make>
void in_background(Library* library, FunctionHandler handler, Make make) {
    library->device->background().add(
        [make = std::move(make), handler = objc::Block<void(Function*, objc::Error*)>(handler)] {
            const auto made = make();
            if (made) {
                handler(made->get(), nullptr);
            } else {
                handler(nullptr, error_of(made.error()).get());
            }
        });
}

objc::Object* function_constants_dictionary(Function* function) {
    auto dictionary = objc::make<objc::Dictionary>();
    const auto module = function->unit->module(false);
    const auto* kernel = module ? (*module)->find(function->name) : nullptr;
    if (kernel == nullptr) return objc::autoreleased(std::move(dictionary));
    for (const auto& [constant, is_required] : function->unit->constants_of(*kernel)) {
        auto described = objc::make<FunctionConstant>();
        described->name = objc::make_string(constant->name);
        described->type = static_cast<MTL::DataType>(constant->type);
        described->index = constant->index;
        described->is_required = is_required;
        dictionary->set(described->name.get(), described.get());
    }
    return objc::autoreleased(std::move(dictionary));
}

FunctionDescriptor* copy(FunctionDescriptor* from) {
    auto made = objc::make<FunctionDescriptor>();
    made->name = from->name;
    made->specialized_name = from->specialized_name;
    made->constants = from->constants;
    made->options = from->options;
    return made.leak();
}

}  // namespace

Function* new_function(Library* library, objc::Object* name) {
    return handed_out(make_function(library, objc::text_of(name), nullptr), nullptr);
}

Function* new_function_with_constants(Library* library, objc::Object* name,
                                      FunctionConstantValues* constants, objc::Object** error) {
    return handed_out(make_function(library, objc::text_of(name), constants), error);
}

void new_function_with_constants_async(Library* library, objc::Object* name,
                                       FunctionConstantValues* constants, FunctionHandler handler) {
    auto values = objc::make<FunctionConstantValues>();
    if (constants) values->values = constants->values;
    in_background(
        library, handler,
        [held = objc::Ref<Library>::retaining(library), text = std::string(objc::text_of(name)),
         values = std::move(values)] { return make_function(held.get(), text, values.get()); });
}

Function* new_function_with_descriptor(Library* library, FunctionDescriptor* descriptor,
                                       objc::Object** error) {
    return handed_out(make_described(library, descriptor), error);
}

void new_function_with_descriptor_async(Library* library, FunctionDescriptor* descriptor,
                                        FunctionHandler handler) {
    in_background(library, handler,
                  [held = objc::Ref<Library>::retaining(library),
                   described = objc::Ref<FunctionDescriptor>::adopt(copy(descriptor))] {
                      return make_described(held.get(), described.get());
                  });
}

void register_function() {
    using objc::method;
    using objc::property;
    objc::define_class<FunctionConstant>("MTLFunctionConstant",
                                         {
                                             property<&FunctionConstant::name>("name"),
                                             property<&FunctionConstant::type>("type"),
                                             property<&FunctionConstant::index>("index"),
                                             property<&FunctionConstant::is_required>("required"),
                                         });
    objc::define_class<FunctionDescriptor>(
        "MTLFunctionDescriptor",
        {
            objc::allocatable<FunctionDescriptor>(),
            objc::class_method<+[] {
                return objc::autoreleased(objc::make<FunctionDescriptor>());
            }>("functionDescriptor"),
            objc::copied_property<&FunctionDescriptor::name>("name", "setName:"),
            objc::copied_property<&FunctionDescriptor::specialized_name>("specializedName",
                                                                         "setSpecializedName:"),
            objc::copied_property<&FunctionDescriptor::constants>("constantValues",
                                                                  "setConstantValues:"),
            property<&FunctionDescriptor::options>("options", "setOptions:"),
            method<&copy>("copy"),
        });
    objc::define_class<Function>(
        "MTLFunction",
        {
            method<+[](Function* f) { return f->device.get(); }>("device"),
            method<+[](Function* f) { return objc::string(f->name); }>("name"),
            objc::copied_property<&Function::label>("label", "setLabel:"),
            method<+[](Function*) { return MTL::FunctionTypeKernel; }>("functionType"),
            method<+[](Function*) -> MTL::FunctionOptions { return MTL::FunctionOptionNone; }>(
                "options"),
            method<&function_constants_dictionary>("functionConstantsDictionary"),
        });
}

}  // namespace softmetal::api
