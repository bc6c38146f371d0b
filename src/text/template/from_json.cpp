#include "text/template/from_json.h"

#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

using Json = nlohmann::ordered_json;

Result<Value> text_value(Runtime& runtime, const std::string& text) {
    const size_t bad = find_invalid_utf8(text);
    if (bad != std::string_view::npos)
        return fail(Fault::BadInput, "a text in the request is not UTF-8 at byte {}", bad);
    return runtime.string(text);
}

Result<Value> convert(Runtime& runtime, const Json& json, int depth) {
    if (depth > Extent::kMaxDepth)
        return fail(Fault::BadInput, "the request nests deeper than {}", Extent::kMaxDepth);
    switch (json.type()) {
        case Json::value_t::null:
            return Value{None{}};
        case Json::value_t::boolean:
            return make_bool(json.get<bool>());
        case Json::value_t::number_integer:
            return make_int(json.get<int64_t>());
        case Json::value_t::number_unsigned:
            return make_int(json.get<uint64_t>());
        case Json::value_t::number_float:
            return Value{json.get<double>()};
        case Json::value_t::string:
            return text_value(runtime, json.get_ref<const std::string&>());
        case Json::value_t::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const auto& element : json) {
                auto item = MINFER_TRY(convert(runtime, element, depth + 1));
                items.push_back(std::move(item));
            }
            return runtime.sequence(std::move(items));
        }
        case Json::value_t::object: {
            Dict dict;
            for (const auto& [key, element] : json.items()) {
                auto name = MINFER_TRY(text_value(runtime, key));
                auto item = MINFER_TRY(convert(runtime, element, depth + 1));
                dict.set(std::move(name), std::move(item));
            }
            return runtime.dict(std::move(dict));
        }
        case Json::value_t::binary:
        case Json::value_t::discarded:
            break;
    }
    return fail(Fault::BadInput, "binary data in a request");
}

}  // namespace

Result<Value> from_json(Runtime& runtime, const Json& json) { return convert(runtime, json, 1); }

}  // namespace minfer::jinja
