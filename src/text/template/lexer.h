#pragma once
// Template source to tokens, with Jinja's white-space rules (trim_blocks, lstrip_blocks, the - and
// + signs) already applied to the text between tags.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/value.h"

namespace minfer::jinja {

struct Token {
    enum class Kind : uint8_t {
        Data,
        VariableBegin,
        VariableEnd,
        BlockBegin,
        BlockEnd,
        Name,
        String,
        Integer,
        Float,
        Operator,
        End,
    };
    Kind kind = Kind::End;
    int line = 0;
    std::string text;  // Data, Name, String (unescaped), Operator
    Integer integer = 0;
    double number = 0;
};

// `source` is valid UTF-8. Ends with an End token.
Result<std::vector<Token>> tokenize(std::string_view source);

std::string describe(const Token& token);  // as in Jinja's messages

}  // namespace minfer::jinja
