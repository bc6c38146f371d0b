// The data of a rendering is whatever a request says. Against templates that use what comes as
// they please, any JSON renders or fails politely.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/chat_messages.h"
#include "text/chat_template.h"

namespace {

using Json = nlohmann::ordered_json;

const char* const kSources[] = {
    "{% for m in messages %}{{ m.role }}{{ m['content'] }}{{ m.content | trim | upper }}"
    "{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% if m.tool_calls %}"
    "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.arguments | tojson(indent=2) }}"
    "{% endfor %}{% endif %}{{ loop.previtem }}{{ messages[loop.index0 - 1].role }}{% endfor %}",
    "{{ messages }}{{ messages | tojson }}{{ messages[::-1] }}{{ messages | length }}",
    "{% for k, v in messages | items %}{{ k ~ v }}{% endfor %}",
    "{{ messages | map(attribute='content') | join(',') }}"
    "{{ messages | selectattr('role', 'equalto', 'user') | list }}",
    "{% for a in messages %}{% for b in messages %}{{ a == b }}{{ a in messages }}{{ a < b }}"
    "{% endfor %}{% endfor %}",
    "{% set ns = namespace(x=messages) %}{{ ns.x + ns.x }}{{ ns.x * 3 }}{{ ns.x % 2 }}",
    "{% for m in messages %}{{ m | int }}{{ m | float }}{{ m | string | title }}{{ -m }}{{ m ** 2 "
    "}}"
    "{% endfor %}",
    "{% for m in messages %}{{ m.format(m, 1) }}{{ m % (1, 'a') }}{{ m[1:-1:2] }}{{ m[::-3] }}"
    "{{ m.replace('', m) }}{{ m.title() }}{{ m.find('a', 1) }}{% endfor %}",
    "{{ strftime_now(messages) }}",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const auto compiled = [] {
        std::vector<minfer::ChatTemplate> out{minfer::ChatTemplate::chatml()};
        for (const char* source : kSources) {
            auto one = minfer::ChatTemplate::compile(source);
            MINFER_ASSERT(one.has_value());
            out.push_back(*std::move(one));
        }
        return out;
    }();
    minfer::ChatTemplate::Input input;
    input.messages = Json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
    input.now = std::tm{};
    if (input.messages.is_discarded()) return 0;
    (void)minfer::normalise_messages(input.messages).has_value();
    const minfer::ChatTemplate::Limits limits{
        .steps = 20'000, .memory_bytes = 1 << 20, .output_bytes = 1 << 16};
    for (const auto& one : compiled) (void)one.render(input, limits).has_value();
    return 0;
}
