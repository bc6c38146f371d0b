#include "softmetal/api/kernel_code.h"

#include <algorithm>
#include <span>
#include <utility>

namespace softmetal::api {
namespace {

// A declaration in a namespace is named with it, an attribute as the source has it.
bool is_called(const sm_function_constant& constant, std::string_view name) {
    const auto full = std::string_view(constant.name);
    return full == name || (full.ends_with(name) && full.size() > name.size() + 2 &&
                            full.substr(full.size() - name.size() - 2, 2) == "::");
}

const sm_function_constant* declared(const exec::Module& module, std::string_view name) {
    const auto& table = module.table();
    const auto all = std::span(table.function_constants, table.n_function_constants);
    const auto found =
        std::ranges::find_if(all, [&](const auto& constant) { return is_called(constant, name); });
    return found == all.end() ? nullptr : &*found;
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

std::vector<Unit::Constant> Unit::constants_of(const sm_kernel& kernel) const {
    std::vector<Constant> constants;
    const auto plain = module(false);
    if (!plain || (*plain)->table().n_function_constants == 0) return constants;
    const auto add = [&](std::string_view name, bool is_required) {
        const auto* constant = declared(**plain, name);
        if (constant == nullptr) return;
        const auto known = std::ranges::find(constants, constant, &Constant::declared);
        if (known == constants.end()) {
            constants.push_back({.declared = constant, .is_required = is_required});
        } else {
            known->is_required |= is_required;
        }
    };
    if (!compiled_.checked.empty()) {
        if (const auto checked = module(true)) {
            for (const auto& use : (*checked)->constant_uses(*(*checked)->find(kernel.name))) {
                add(use.name, use.is_read && !use.is_tested);
            }
        }
    }
    // Those that arguments depend on decide before any code of the kernel runs.
    for (const auto& argument : std::span(kernel.arguments, kernel.n_arguments)) {
        if (argument.function_constant != nullptr) add(argument.function_constant, true);
    }
    return constants;
}

Result<std::shared_ptr<KernelCode>> KernelCode::make(std::shared_ptr<const Unit> unit,
                                                     std::string_view kernel,
                                                     std::vector<exec::ConstantValue> constants) {
    auto code = std::shared_ptr<KernelCode>(new KernelCode);
    const auto loaded = constants.empty() ? unit->module(false) : unit->load(false, constants);
    if (!loaded) return fail("function '" + std::string(kernel) + "': " + loaded.error());
    code->plain_.module = *loaded;
    code->plain_.kernel = code->plain_.module->find(kernel);
    if (code->plain_.kernel == nullptr) return fail("no function '" + std::string(kernel) + "'");
    code->name_ = kernel;
    code->unit_ = std::move(unit);
    code->constants_ = std::move(constants);

    const auto& found = *code->plain_.kernel;
    for (const auto& [constant, is_required] : code->unit_->constants_of(found)) {
        if (!is_required || value_of(*constant, code->constants_) != nullptr) continue;
        return fail("function '" + code->name_ + "' depends on function constant '" +
                    constant->name + "' (index " + std::to_string(constant->index) +
                    "), which has no value");
    }
    for (const auto& argument : std::span(found.arguments, found.n_arguments)) {
        if (argument.function_constant != nullptr) {
            const auto* constant = declared(*code->plain_.module, argument.function_constant);
            const auto* value = constant ? value_of(*constant, code->constants_) : nullptr;
            if (value == nullptr || !is_true(*value)) continue;
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
