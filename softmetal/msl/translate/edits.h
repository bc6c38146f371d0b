// Changes to a text, collected in any order and applied at once. Lines never move: what is blanked
// keeps its newlines and line markers, and nothing inserted may contain a newline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace softmetal::msl {

class Edits {
  public:
    void replace(size_t begin, size_t end, std::string text);
    void insert(size_t at, std::string text) { replace(at, at, std::move(text)); }
    void blank(size_t begin, size_t end);  // also swallows every other change inside

    std::string apply(std::string_view text) const;

  private:
    struct Change {
        size_t begin = 0, end = 0;
        std::string text;
        bool blanks = false;
    };
    std::vector<Change> changes_;
};

}  // namespace softmetal::msl
