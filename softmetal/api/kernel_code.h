// The code of one function: a kernel of a compiled unit, specialised with function constant values.
// MTLFunction makes it, MTLComputePipelineState and every recorded dispatch share it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/base/mutex.h"
#include "softmetal/base/result.h"
#include "softmetal/exec/module.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::api {

// A compiled unit and its modules without function constant values, loaded when first asked for.
class Unit {
  public:
    explicit Unit(msl::CompiledUnit compiled) : compiled_(std::move(compiled)) {}
    using ModuleResult = Result<std::shared_ptr<const exec::Module>>;
    ModuleResult module(bool checked) const;
    ModuleResult load(bool checked, const std::vector<exec::ConstantValue>& constants) const;

    // A function constant that a kernel depends on.
    struct Constant {
        const sm_function_constant* declared = nullptr;
        bool is_required = false;  // the kernel does not ask whether it has a value
    };
    // Only checked code says which these are; a unit without it counts the constants that decide
    // about the kernel's arguments.
    std::vector<Constant> constants_of(const sm_kernel& kernel) const;

  private:
    const msl::CompiledUnit compiled_;
    mutable Mutex mutex_;
    mutable std::shared_ptr<const exec::Module> modules_[2] SOFTMETAL_GUARDED_BY(mutex_);
};

class KernelCode {
  public:
    struct Entry {
        std::shared_ptr<const exec::Module> module;
        const sm_kernel* kernel = nullptr;
    };

    // Fails on a constant of the wrong type, and on one that the kernel's arguments depend on and
    // that has no value.
    static Result<std::shared_ptr<KernelCode>> make(std::shared_ptr<const Unit> unit,
                                                    std::string_view kernel,
                                                    std::vector<exec::ConstantValue> constants);

    const std::string& name() const { return name_; }
    // Fails only for checked code: when the library was compiled without it.
    Result<Entry> entry(bool checked) const;
    // Arguments that exist with these function constants, in the order of the source.
    const std::vector<const sm_argument*>& arguments() const { return arguments_; }
    exec::Module::Limits limits() const { return plain_.module->limits(*plain_.kernel); }
    const exec::Module& module() const { return *plain_.module; }

  private:
    KernelCode() = default;

    std::shared_ptr<const Unit> unit_;
    std::string name_;
    std::vector<exec::ConstantValue> constants_;
    Entry plain_;
    std::vector<const sm_argument*> arguments_;
    mutable Mutex mutex_;
    mutable Entry checked_ SOFTMETAL_GUARDED_BY(mutex_);
};

}  // namespace softmetal::api
