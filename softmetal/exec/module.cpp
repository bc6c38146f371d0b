#include "softmetal/exec/module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

namespace softmetal::exec {
namespace {

// The constants of the module that this thread is loading, and what was wrong with them.
struct Loading {
    const std::vector<ConstantValue>* constants;
    std::string error;
};
thread_local Loading* loading = nullptr;

// dlopen takes two objects of one name for the same one, and a closed descriptor's number comes
// back. So every load spells the path of its descriptor in a way of its own: the bits of a counter
// as "/" or "./".
std::string unique_path(int descriptor) {
    static std::atomic<uint64_t> counter = 0;
    std::string path = "/proc/self/fd/";
    for (uint64_t bits = ++counter; bits != 0; bits >>= 1) path += bits & 1 ? "./" : "/";
    return path + std::to_string(descriptor);
}

Result<int> memory_file(std::string_view bytes) {
    const int descriptor = memfd_create("softmetal-module", MFD_CLOEXEC);
    if (descriptor < 0) return fail(fmt::format("no memory file: {}", std::strerror(errno)));
    while (!bytes.empty()) {
        const ssize_t written = write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int error = errno;
            close(descriptor);
            return fail(fmt::format("cannot write a module to memory: {}", std::strerror(error)));
        }
        bytes.remove_prefix(static_cast<size_t>(written));
    }
    return descriptor;
}

std::vector<Module::Segment> segments_of(void* handle) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
    struct Search {
        ElfW(Addr) base;
        std::vector<Module::Segment> found;
    } search = {.base = map->l_addr, .found = {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* context) {
            auto& wanted = *static_cast<Search*>(context);
            if (info->dlpi_addr != wanted.base) return 0;
            for (const auto& header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
                if (header.p_type != PT_LOAD) continue;
                wanted.found.push_back(
                    {.begin = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr),
                     .bytes = header.p_memsz,
                     .is_code = (header.p_flags & PF_X) != 0});
            }
            return 1;
        },
        &search);
    return search.found;
}

}  // namespace

struct Module::Loaded {
    void* handle = nullptr;
    const sm_module* table = nullptr;
    const sm_constant_use* constant_uses = nullptr;
    std::unordered_map<std::string_view, const sm_kernel*> kernels;
    std::vector<Limits> limits;  // by kernel
    std::vector<Segment> segments;

    Loaded() = default;
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded() {
        if (handle != nullptr) dlclose(handle);
    }
};

Module::Module(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
Module::~Module() = default;

Result<std::shared_ptr<const Module>> Module::load(std::string_view object,
                                                   const std::vector<ConstantValue>& constants) {
    const int descriptor = SOFTMETAL_TRY(memory_file(object));
    auto loaded = std::make_unique<Loaded>();
    auto context = Loading{.constants = &constants, .error = {}};
    // A static initialiser of the module could load another one.
    Loading* const outer = std::exchange(loading, &context);
    loaded->handle = dlopen(unique_path(descriptor).c_str(), RTLD_NOW | RTLD_LOCAL);
    loading = outer;
    close(descriptor);
    if (loaded->handle == nullptr) return fail(fmt::format("cannot load a module: {}", dlerror()));
    if (!context.error.empty()) return fail(context.error);

    const auto* table = static_cast<const sm_module*>(dlsym(loaded->handle, "softmetal_module"));
    if (table == nullptr) return fail("not a kernel module: it has no symbol softmetal_module");
    if (table->abi_version != SM_ABI_VERSION) {
        return fail(fmt::format("a kernel module has ABI version {}, this program runs {}",
                                table->abi_version, +SM_ABI_VERSION));
    }
    loaded->table = table;
    loaded->constant_uses =
        static_cast<const sm_constant_use*>(dlsym(loaded->handle, "softmetal_constant_uses"));
    loaded->segments = segments_of(loaded->handle);
    // Asked now, before any thread can be running one of the entries.
    for (const auto& kernel : std::span(table->kernels, table->n_kernels)) {
        loaded->kernels.emplace(kernel.name, &kernel);
        loaded->limits.push_back(ask_limits(*table, kernel));
    }
    return std::shared_ptr<const Module>(new Module(std::move(loaded)));
}

Module::Limits Module::ask_limits(const sm_module& table, const sm_kernel& kernel) {
    sm_query answer = {};
    const sm_group group = {};
    const sm_thread thread = {.group = &group};
    const sm_arguments arguments = {};
    *table.query = &answer;
    kernel.entry(&thread, &arguments);
    *table.query = nullptr;
    auto limits = Limits{.max_total_threads = answer.max_total_threads};
    if (answer.function == nullptr) return limits;
    for (const auto* variable :
         std::span(table.threadgroup_variables_begin, table.threadgroup_variables_end)) {
        if (std::strcmp(variable->function, answer.function) != 0) continue;
        const uint64_t alignment = std::max<uint64_t>(variable->alignment, 1);
        limits.static_threadgroup_bytes =
            (limits.static_threadgroup_bytes + alignment - 1) / alignment * alignment +
            variable->bytes;
    }
    return limits;
}

const sm_module& Module::table() const { return *loaded_->table; }

const sm_kernel* Module::find(std::string_view kernel) const {
    const auto found = loaded_->kernels.find(kernel);
    return found == loaded_->kernels.end() ? nullptr : found->second;
}

Module::Limits Module::limits(const sm_kernel& kernel) const {
    return loaded_->limits[static_cast<size_t>(&kernel - loaded_->table->kernels)];
}

bool Module::knows_constant_uses() const { return loaded_->constant_uses != nullptr; }

std::vector<Module::ConstantUse> Module::constant_uses(const sm_kernel& kernel) const {
    std::vector<ConstantUse> uses;
    const auto* row = loaded_->constant_uses;
    if (row == nullptr) return uses;
    for (; row->entry != nullptr; ++row) {
        if (row->entry != kernel.entry) continue;
        auto use = std::ranges::find(uses, row->name, &ConstantUse::name);
        if (use == uses.end()) use = uses.insert(use, {.name = row->name});
        (row->is_tested ? use->is_tested : use->is_read) = true;
    }
    return uses;
}

std::span<const Module::Segment> Module::segments() const { return loaded_->segments; }

std::string Module::file_name(uint32_t hash) const {
    const auto files = std::span(loaded_->table->files, loaded_->table->n_files);
    const auto found = std::ranges::find(files, hash, &sm_source_file::hash);
    return found == files.end() ? "" : found->name;
}

}  // namespace softmetal::exec

extern "C" sm_u32 sm_load_function_constant(sm_u32 index, const char* name, sm_u32 type,
                                            void* value, sm_u32 bytes) {
    using softmetal::exec::loading;
    if (loading == nullptr) return 0;
    for (const auto& constant : *loading->constants) {
        const bool wanted = constant.name.empty() ? constant.index == index : constant.name == name;
        if (!wanted) continue;
        if (constant.type != type || constant.bytes.size() != bytes) {
            loading->error = fmt::format(
                "function constant '{}' (index {}) has data type {} and {} bytes, but was set with "
                "data type {} and {} bytes",
                name, index, type, bytes, constant.type, constant.bytes.size());
            return 0;
        }
        std::memcpy(value, constant.bytes.data(), bytes);
        return 1;
    }
    return 0;
}
