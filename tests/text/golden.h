#pragma once
// The references that tests/golden/make_tokenizer_golden.py wrote.

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/golden.h"

namespace minfer {

inline const nlohmann::json& tokenizer_golden() {
    static const auto json = nlohmann::json::parse(std::ifstream(golden_path("tokenizer.json")));
    return json;
}

}  // namespace minfer
