#pragma once
// The references that tests/golden/make_tokenizer_golden.py wrote.

#include <fstream>
#include <nlohmann/json.hpp>

namespace minfer {

inline const nlohmann::json& tokenizer_golden() {
    static const auto json =
        nlohmann::json::parse(std::ifstream(MINFER_GOLDEN_DIR "/tokenizer.json"));
    return json;
}

}  // namespace minfer
