#include "softmetal/api/kernel_code.h"

#include <algorithm>
#include <span>
#include <utility>

namespace softmetal::api {
namespace {

std::span<const sm_function_constant> constants_of(const exec::Module& module) {
    return {module.table().function_constants, module.table().n_function_constants};
}

const exec::ConstantValue* value_of(const sm_function_constant& constant,
                                    const std::vector<exec::ConstantValue>& values) {
    const auto found = std::ranges::find_if(values, [&](const auto& value) {
        return value.name.empty() ? value.index == constant.index : value.name == constant.name;
    });
    return found == values.end() ? nullptr : &*found;
}

bool is_true(const exec::ConstantValue& value) {
    return std::ranges::any_of(value.bytes, [](char byte) { return byte != 0; });
}

}  // namespace

Unit::ModuleResult Unit::load(bool checked,
                              const std::vector<exec::ConstantValue>& constants) const {
    if (checked && compiled_.checked.empty()) {
        return fail(
            "the library was compiled without checked code, and the device's checks are on");
    }
    return exec::Module::load(checked ? compiled_.checked : compiled_.plain, constants);
}

Unit::ModuleResult Unit::module(bool checked) const {
    const auto lock = MutexLock(mutex_);
    auto& module = modules_[checked];
    if (!module) module = SOFTMETAL_TRY(load(checked, {}));
    return module;
}

Result<std::shared_ptr<KernelCode>> KernelCode::make(std::shared_ptr<const Unit> unit,
                                                     std::string_view kernel,
                                                     std::vector<exec::ConstantValue> constants) {
    auto code = std::shared_ptr<KernelCode>(new KernelCode);
    code->plain_.module =
        SOFTMETAL_TRY(constants.empty() ? unit->module(false) : unit->load(false, constants));
    code->plain_.kernel = code->plain_.module->find(kernel);
    if (code->plain_.kernel == nullptr) return fail("no function '" + std::string(kernel) + "'");
    code->name_ = kernel;
    code->unit_ = std::move(unit);
    code->constants_ = std::move(constants);

    const auto& found = *code->plain_.kernel;
    for (const auto& argument : std::span(found.arguments, found.n_arguments)) {
        if (argument.function_constant != nullptr) {
            const auto known = constants_of(*code->plain_.module);
            const auto constant = std::ranges::find_if(known, [&](const auto& candidate) {
                return std::string_view(candidate.name) == argument.function_constant;
            });
            const auto* value =
                constant == known.end() ? nullptr : value_of(*constant, code->constants_);
            if (value == nullptr) {
                return fail("function '" + code->name_ + "': function constant '" +
                            argument.function_constant + "' has no value, and argument '" +
                            argument.name + "' depends on it");
            }
            if (!is_true(*value)) continue;
        }
        code->arguments_.push_back(&argument);
    }
    return code;
}

Result<KernelCode::Entry> KernelCode::entry(bool checked) const {
    if (!checked) return plain_;
    const auto lock = MutexLock(mutex_);
    if (checked_.module == nullptr) {
        const auto module =
            constants_.empty() ? unit_->module(true) : unit_->load(true, constants_);
        if (!module) return fail("kernel '" + name_ + "': " + module.error());
        checked_ = {.module = *module, .kernel = (*module)->find(name_)};
    }
    return checked_;
}

}  // namespace softmetal::api
