// Entries, function constants and threadgroup variables of modules that run on a CPU.
#pragma once

// Set by the executor while it asks an entry about its kernel; see sm_query.
static sm_query* volatile sm_current_query = nullptr;

extern "C" {
extern const sm_threadgroup_variable* const __start_sm_threadgroup_variables[]
    __attribute__((weak, visibility("hidden")));
extern const sm_threadgroup_variable* const __stop_sm_threadgroup_variables[]
    __attribute__((weak, visibility("hidden")));
}

namespace sm_glue {

template <auto kernel, class... Sources>
struct entry;
template <class... P, void (*kernel)(P...), class... Sources>
struct entry<kernel, Sources...> {
    static void run(const sm_thread* thread, const sm_arguments* arguments) {
        kernel(Sources::template get<P>(thread, arguments)...);
    }
};

template <class T>
inline T load_function_constant(sm_u32 index, const char* name) {
    static_assert(data_type<T> != 0, "SM:0::a function constant must be a scalar or a vector");
    T value{};
    sm_load_function_constant(index, name, data_type<T>, &value, sizeof(T));
    return value;
}
template <class T>
inline bool is_function_constant_set(sm_u32 index, const char* name) {
    T value{};
    return sm_load_function_constant(index, name, data_type<T>, &value, sizeof(T)) != 0;
}

}  // namespace sm_glue

#define SM_FUNCTION_CONSTANT(variable, index, name) \
    sm_glue::load_function_constant<sm_glue::bare<decltype(variable)>>(index, name)
#define SM_FUNCTION_CONSTANT_IS_SET(variable, index, name) \
    sm_glue::is_function_constant_set<sm_glue::bare<decltype(variable)>>(index, name)

// First in a kernel's body.
#define SM_KERNEL_PROLOGUE(max_threads)                       \
    if (sm_query* sm_asked = sm_current_query) [[unlikely]] { \
        sm_asked->function = __PRETTY_FUNCTION__;             \
        sm_asked->max_total_threads = max_threads;            \
        return;                                               \
    }

#define SM_LISTED __attribute__((section("sm_threadgroup_variables")))

// After `typedef T sm_type_name[n];`: one such variable per threadgroup. It is listed by a pointer
// that the code itself reads: where the optimiser drops the code, the variable takes no memory
// either.
#define SM_THREADGROUP_VARIABLE(variable)                                                        \
    static constexpr sm_threadgroup_variable sm_variable_##variable = {                          \
        __PRETTY_FUNCTION__, #variable, sizeof(sm_type_##variable), alignof(sm_type_##variable), \
        __LINE__};                                                                               \
    SM_LISTED static const sm_threadgroup_variable* const volatile sm_listed_##variable =        \
        &sm_variable_##variable;                                                                 \
    sm_type_##variable& variable =                                                               \
        *static_cast<sm_type_##variable*>(sm_threadgroup_storage(sm_listed_##variable));

#ifndef SM_IS_CHECKED
#define SM_IS_CHECKED 0
#endif

// Last in the translation unit.
#define SM_MODULE(kernels, n_kernels, constants, n_constants, files, n_files) \
    extern "C" __attribute__((visibility("default")))                         \
    const sm_module softmetal_module = {SM_ABI_VERSION,                       \
                                        SM_IS_CHECKED,                        \
                                        kernels,                              \
                                        n_kernels,                            \
                                        n_constants,                          \
                                        constants,                            \
                                        __start_sm_threadgroup_variables,     \
                                        __stop_sm_threadgroup_variables,      \
                                        files,                                \
                                        n_files,                              \
                                        &sm_current_query};
