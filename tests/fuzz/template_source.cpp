// The source of a template is whatever a model file says: it compiles or fails politely, and what
// compiles renders or fails politely, within its limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const auto input = [] {
        minfer::ChatTemplate::Input out;
        out.messages = nlohmann::ordered_json::parse(
            R"([{"role": "system", "content": "s"}, {"role": "user", "content": "hé <b>"},
                {"role": "assistant", "content": "a</think>b", "tool_calls": [{"name": "f", "arguments": {"x": [1, 2.5, null]}}]}])");
        out.extra = nlohmann::ordered_json::parse(
            R"({"s": "text é", "n": 7, "f": 0.5, "d": {"a": 1, "b": [true, "x"]}, "l": [3, 1, 2], "x": null})");
        out.bos_token = "<s>";
        out.now = std::tm{};
        return out;
    }();
    const auto source = std::string_view(reinterpret_cast<const char*>(data), size);
    const auto compiled = minfer::ChatTemplate::compile(source);
    if (!compiled) return 0;
    const minfer::ChatTemplate::Limits limits{
        .steps = 20'000, .memory_bytes = 1 << 20, .output_bytes = 1 << 16};
    (void)compiled->render(input, limits).has_value();
    return 0;
}
