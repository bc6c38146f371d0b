// Prints what softmetal answers to, one "Class selector" or "+Class selector" a line: the input of
// tools/coverage.py.
#include <objc/runtime.h>

#include <cstdio>

#include "softmetal/objc/class.h"

namespace {

using MetalClass = softmetal::objc::Class;  // <objc/runtime.h> has a Class of its own

void print_methods(const MetalClass* table, const char* mark, const char* name) {
    for (uint32_t i = 0; i < table->n_buckets; ++i) {
        const auto& bucket = table->buckets[i];
        if (bucket.selector != nullptr) {
            std::printf("%s%s %s\n", mark, name, bucket.selector->name);
        }
    }
}

}  // namespace

int main() {
    objc_lookUpClass("NSObject");  // the first look-up defines all classes
    softmetal::objc::for_each_class(
        [](MetalClass* cls, void*) {
            if (cls->flags & softmetal::objc::kMissing) return;
            print_methods(cls, "", cls->name);
            print_methods(cls->isa, "+", cls->name);
        },
        nullptr);
}
