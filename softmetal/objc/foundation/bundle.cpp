#include "softmetal/objc/foundation/bundle.h"

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"
#include "softmetal/objc/foundation/url.h"

SOFTMETAL_STRING_CONSTANT(NSBundleDidLoadNotification, "NSBundleDidLoadNotification");
SOFTMETAL_STRING_CONSTANT(NSBundleResourceRequestLowDiskSpaceNotification,
                          "NSBundleResourceRequestLowDiskSpaceNotification");

namespace softmetal::objc {
namespace {

namespace fs = std::filesystem;

fs::path program() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored);
}

Object* path_string(const fs::path& path) { return string(path.string()); }
Object* file_url(const fs::path& path) { return autoreleased(make<Url>(path.string())); }

// A folder that is not there gives nil, and `self` is gone.
Bundle* init_at(Bundle* self, const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        self->folder = fs::absolute(path, ignored).lexically_normal();
        if (!self->folder.has_filename()) self->folder = self->folder.parent_path();
        return self;
    }
    release(self);
    return nullptr;
}
Bundle* init_with_path(Bundle* self, Object* path) { return init_at(self, text_of(path)); }
Bundle* init_with_url(Bundle* self, Url* url) { return init_at(self, url ? url->path : ""); }
Object* bundle_with_path(Object* path) {
    return autoreleased(Ref<Bundle>::adopt(init_with_path(make<Bundle>().leak(), path)));
}
Object* bundle_with_url(Url* url) {
    return autoreleased(Ref<Bundle>::adopt(init_with_url(make<Bundle>().leak(), url)));
}
Object* the_main_bundle() { return main_bundle(); }
Object* all_bundles() {
    return autoreleased(make_array<Bundle>({Ref<Bundle>::retaining(main_bundle())}));
}
Object* no_frameworks() { return autoreleased(make<Array>()); }

bool is_loaded(Bundle* self) { return self == main_bundle(); }
Object* bundle_path(Bundle* self) { return path_string(self->folder); }
Object* bundle_url(Bundle* self) { return file_url(self->folder); }
Object* resource_path(Bundle* self) { return path_string(self->resources()); }
Object* resource_url(Bundle* self) { return file_url(self->resources()); }
Object* executable_path(Bundle* self) {
    return self == main_bundle() ? path_string(program()) : nullptr;
}
Object* executable_url(Bundle* self) {
    return self == main_bundle() ? file_url(program()) : nullptr;
}

// Another program in the same folder.
fs::path auxiliary(const Bundle* self, Object* name) {
    if (!name) return {};
    const fs::path path = self->folder / text_of(name);
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) ? path : fs::path();
}
Object* auxiliary_path(Bundle* self, Object* name) {
    const fs::path path = auxiliary(self, name);
    return path.empty() ? nullptr : path_string(path);
}
Object* auxiliary_url(Bundle* self, Object* name) {
    const fs::path path = auxiliary(self, name);
    return path.empty() ? nullptr : file_url(path);
}

// There is no Info.plist to read, hence no identifier, no entries and no translations.
Object* nothing(Bundle*) { return nullptr; }
Object* empty_info(Bundle*) { return autoreleased(make<Dictionary>()); }
Object* no_entry(Bundle*, Object*) { return nullptr; }
Object* untranslated(Bundle*, Object* key, Object* value, Object*) {
    if (value && !text_of(value).empty()) return value;
    return key ? key : string("");
}

}  // namespace

fs::path Bundle::resources() const {
    std::error_code ignored;
    const fs::path inside = folder / "Contents" / "Resources";
    return fs::is_directory(inside, ignored) ? inside : folder;
}

Bundle* main_bundle() {
    static Bundle* const only = [] {
        Ref<Bundle> made = make<Bundle>();
        made->folder = program().parent_path();
        make_immortal(made.get());
        return made.leak();
    }();
    return only;
}

void register_bundle() {
    define_class<Bundle>("NSBundle",
                         {
                             allocatable<Bundle>(),
                             class_method<&the_main_bundle>("mainBundle"),
                             class_method<&bundle_with_path>("bundleWithPath:"),
                             class_method<&bundle_with_url>("bundleWithURL:"),
                             class_method<&all_bundles>("allBundles"),
                             class_method<&no_frameworks>("allFrameworks"),
                             method<&init_with_path>("initWithPath:"),
                             method<&init_with_url>("initWithURL:"),
                             method<&is_loaded>("isLoaded"),
                             method<&bundle_path>("bundlePath"),
                             method<&bundle_url>("bundleURL"),
                             method<&resource_path>("resourcePath"),
                             method<&resource_url>("resourceURL"),
                             method<&executable_path>("executablePath"),
                             method<&executable_url>("executableURL"),
                             method<&auxiliary_path>("pathForAuxiliaryExecutable:"),
                             method<&auxiliary_url>("URLForAuxiliaryExecutable:"),
                             method<&nothing>("bundleIdentifier"),
                             method<&empty_info>("infoDictionary"),
                             method<&nothing>("localizedInfoDictionary"),
                             method<&no_entry>("objectForInfoDictionaryKey:"),
                             method<&untranslated>("localizedStringForKey:value:table:"),
                         });
}

}  // namespace softmetal::objc
