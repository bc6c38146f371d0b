#include "text/chat_messages.h"

#include <fmt/format.h>

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> normalise_role(const Json& message) {
    const auto role = message.find("role");
    if (role == message.end()) return fail(Fault::BadInput, "no role");
    if (!role->is_string())
        return fail(Fault::BadInput, "role is a {}, not a string", role->type_name());
    const auto name = role->get<std::string>();
    if (name == "developer") return "system";
    for (const auto* known : {"system", "user", "assistant", "tool"})
        if (name == known) return name;
    return fail(Fault::BadInput, "role '{}' is not one of system, user, assistant, tool, developer",
                name);
}

Result<std::string> normalise_part(const Json& part) {
    if (part.is_string()) return part.get<std::string>();
    if (!part.is_object()) return fail(Fault::BadInput, "is a {}, not an object", part.type_name());
    const auto type = part.find("type");
    if (type == part.end() || !type->is_string())
        return fail(Fault::BadInput, "has no type that is a string");
    if (*type != "text")
        return fail(Fault::BadInput, "has type '{}', only 'text' is understood",
                    type->get<std::string>());
    const auto text = part.find("text");
    if (text == part.end() || !text->is_string())
        return fail(Fault::BadInput, "has no text that is a string");
    return text->get<std::string>();
}

Result<std::string> normalise_content(const Json& content) {
    if (content.is_null()) return std::string();
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array())
        return fail(Fault::BadInput, "content is a {}, not a string, null or an array of parts",
                    content.type_name());
    std::string joined;
    for (size_t i = 0; i < content.size(); ++i) {
        auto text = normalise_part(content[i]);
        if (!text) return fail(text.error().fault, "content part {} {}", i, text.error().what);
        joined += *text;
    }
    return joined;
}

Result<Json> normalise_message(const Json& message) {
    if (!message.is_object())
        return fail(Fault::BadInput, "is a {}, not an object", message.type_name());
    auto role = MINFER_TRY(normalise_role(message));
    auto content = MINFER_TRY(normalise_content(message.value("content", Json())));
    Json out = message;
    out["role"] = std::move(role);
    out["content"] = std::move(content);
    return out;
}

}  // namespace

Result<Json> normalise_messages(const Json& messages) {
    if (!messages.is_array())
        return fail(Fault::BadInput, "messages is a {}, not an array", messages.type_name());
    Json out = Json::array();
    for (size_t i = 0; i < messages.size(); ++i) {
        auto message = normalise_message(messages[i]);
        if (!message) return at(fmt::format("messages[{}]", i), std::move(message).error());
        out.push_back(*std::move(message));
    }
    return out;
}

std::optional<std::string> new_turn_text(std::string_view past, std::string_view all) {
    if (!all.starts_with(past)) return std::nullopt;
    const size_t restored = past.ends_with('\n') ? 1 : 0;
    return std::string(all.substr(past.size() - restored));
}

std::optional<std::string> open_last_message(std::string_view rendering, std::string_view content) {
    const size_t found = rendering.rfind(content);
    if (found == std::string_view::npos) return std::nullopt;
    // Without text the message is only its header, and what ends it cannot be told from that.
    if (content.empty()) return std::nullopt;
    return std::string(rendering.substr(0, found + content.size()));
}

}  // namespace minfer
