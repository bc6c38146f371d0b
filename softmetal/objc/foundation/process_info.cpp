// NSProcessInfo: the process and the machine, as Linux tells of them. As the system version it
// gives the macOS whose Metal softmetal stands for.
#include <pwd.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <string>

#include "softmetal/base/thread.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"

SOFTMETAL_STRING_CONSTANT(NSProcessInfoThermalStateDidChangeNotification,
                          "NSProcessInfoThermalStateDidChangeNotification");
SOFTMETAL_STRING_CONSTANT(NSProcessInfoPowerStateDidChangeNotification,
                          "NSProcessInfoPowerStateDidChangeNotification");
SOFTMETAL_STRING_CONSTANT(NSProcessInfoPerformanceProfileDidChangeNotification,
                          "NSProcessInfoPerformanceProfileDidChangeNotification");

namespace softmetal::objc {
namespace {

struct Version {
    intptr_t major, minor, patch;
};
constexpr Version kVersion = {14, 0, 0};  // Metal 3.1

std::string file_bytes(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Ref<Array> split(const std::string& text, char end) {
    std::vector<Ref<Object>> parts;
    for (size_t at = 0; at < text.size();) {
        const size_t stop_at = std::min(text.find(end, at), text.size());
        parts.push_back(make_string(std::string_view(text).substr(at, stop_at - at)));
        at = stop_at + 1;
    }
    return make<Array>(std::move(parts));
}

struct ProcessInfo : Object {
    std::mutex mutex;
    Ref<Object> name;  // guarded by mutex

    ProcessInfo() {
        const Ref<Array> words = split(file_bytes("/proc/self/cmdline"), '\0');
        const std::string_view path = words->items.empty() ? "" : text_of(words->items[0].get());
        name = make_string(path.substr(path.rfind('/') + 1));
    }
    Object* process_name() {
        const std::scoped_lock lock(mutex);
        return autoreleased(name);
    }
    void set_process_name(Object* value) {
        const std::scoped_lock lock(mutex);
        if (value) name = Ref<Object>::retaining(value);
    }
};

Object* process_info() {
    static ProcessInfo* const only = [] {
        Ref<ProcessInfo> made = make<ProcessInfo>();
        make_immortal(made.get());
        return made.leak();
    }();
    return only;
}

Object* arguments(ProcessInfo*) {
    return autoreleased(split(file_bytes("/proc/self/cmdline"), '\0'));
}

Object* environment(ProcessInfo*) {
    Ref<Dictionary> result = make<Dictionary>();
    for (char** at = environ; at && *at; ++at) {
        const std::string_view entry = *at;
        const size_t equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        const Ref<String> key = make_string(entry.substr(0, equals));
        const Ref<String> value = make_string(entry.substr(equals + 1));
        result->set(key.get(), value.get());
    }
    return autoreleased(std::move(result));
}

Object* host_name(ProcessInfo*) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    return string(name);
}

int process_identifier(ProcessInfo*) { return getpid(); }

Object* globally_unique_string(ProcessInfo*) {
    static std::atomic<uint64_t> count = 0;
    std::random_device random;
    std::string text;
    for (int i = 0; i < 4; ++i) text += std::to_string(random()) + "-";
    return string(text + std::to_string(getpid()) + "-" + std::to_string(count++));
}

// The user's entry in the password file: name, and the words in front of the first comma.
struct User {
    std::string name, full_name;
};
User current_user() {
    char buffer[4096];
    passwd entry = {}, *found = nullptr;
    if (getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) != 0 || !found) return {};
    const std::string_view gecos = entry.pw_gecos ? entry.pw_gecos : "";
    return {entry.pw_name, std::string(gecos.substr(0, gecos.find(',')))};
}
Object* user_name(ProcessInfo*) { return string(current_user().name); }
Object* full_user_name(ProcessInfo*) { return string(current_user().full_name); }

uintptr_t operating_system(ProcessInfo*) { return 5; }  // NSMACHOperatingSystem: Metal's only home
Version operating_system_version(ProcessInfo*) { return kVersion; }
Object* operating_system_version_string(ProcessInfo*) {
    return string("Version " + std::to_string(kVersion.major) + "." +
                  std::to_string(kVersion.minor) + " (softmetal)");
}
bool is_at_least(ProcessInfo*, Version asked) {
    if (kVersion.major != asked.major) return kVersion.major > asked.major;
    if (kVersion.minor != asked.minor) return kVersion.minor > asked.minor;
    return kVersion.patch >= asked.patch;
}

uintptr_t processor_count(ProcessInfo*) {
    return static_cast<uintptr_t>(sysconf(_SC_NPROCESSORS_CONF));
}
// Those this process may run on.
uintptr_t active_processor_count(ProcessInfo* self) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return processor_count(self);
    return static_cast<uintptr_t>(CPU_COUNT(&set));
}
unsigned long long physical_memory(ProcessInfo*) {
    return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}
double system_uptime(ProcessInfo*) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Linux ends no process that did not ask for it, so there is nothing to allow or forbid.
void no_sudden_end(ProcessInfo*) {}
void no_automatic_end(ProcessInfo*, Object*) {}
void set_automatic_end(ProcessInfo*, bool) {}

Object* begin_activity(ProcessInfo*, uint64_t, Object*) {
    static const SEL new_selector = intern("new");
    auto* token = send<Object*>(as_object(&ns_object_class), new_selector);
    autorelease(token);
    return token;
}
void end_activity(ProcessInfo*, Object*) {}
void perform_activity(ProcessInfo*, uint64_t, Object*, void (^block)()) { block(); }
void perform_expiring_activity(ProcessInfo*, Object*, void (^block)(bool)) {
    const auto work = [kept = Block<void(bool)>(block)] {
        const AutoreleaseScope scope;
        kept(false);
    };
    auto thread = start_thread(work);
    if (!thread) return work();
    thread->detach();
}

intptr_t thermal_state(ProcessInfo*) { return 0; }  // nominal
bool no(ProcessInfo*) { return false; }
bool not_for(ProcessInfo*, intptr_t) { return false; }

}  // namespace

void register_process_info() {
    define_class<ProcessInfo>(
        "NSProcessInfo",
        {
            class_method<&process_info>("processInfo"),
            method<&arguments>("arguments"),
            method<&environment>("environment"),
            method<&host_name>("hostName"),
            method<&ProcessInfo::process_name>("processName"),
            method<&ProcessInfo::set_process_name>("setProcessName:"),
            method<&process_identifier>("processIdentifier"),
            method<&globally_unique_string>("globallyUniqueString"),
            method<&user_name>("userName"),
            method<&full_user_name>("fullUserName"),
            method<&operating_system>("operatingSystem"),
            method<&operating_system_version>("operatingSystemVersion"),
            method<&operating_system_version_string>("operatingSystemVersionString"),
            method<&is_at_least>("isOperatingSystemAtLeastVersion:"),
            method<&processor_count>("processorCount"),
            method<&active_processor_count>("activeProcessorCount"),
            method<&physical_memory>("physicalMemory"),
            method<&system_uptime>("systemUptime"),
            method<&no_sudden_end>("disableSuddenTermination"),
            method<&no_sudden_end>("enableSuddenTermination"),
            method<&no_automatic_end>("disableAutomaticTermination:"),
            method<&no_automatic_end>("enableAutomaticTermination:"),
            method<&no>("automaticTerminationSupportEnabled"),
            method<&set_automatic_end>("setAutomaticTerminationSupportEnabled:"),
            method<&begin_activity>("beginActivityWithOptions:reason:"),
            method<&end_activity>("endActivity:"),
            method<&perform_activity>("performActivityWithOptions:reason:usingBlock:"),
            method<&perform_expiring_activity>("performExpiringActivityWithReason:usingBlock:"),
            method<&thermal_state>("thermalState"),
            method<&no>("isLowPowerModeEnabled"),
            method<&no>("isiOSAppOnMac"),
            method<&no>("isMacCatalystApp"),
            method<&not_for>("isDeviceCertifiedFor:"),
            method<&not_for>("hasPerformanceProfile:"),
        });
}

}  // namespace softmetal::objc
