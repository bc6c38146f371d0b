#pragma once
// Watches the generated text for stop strings. Text that may be the beginning of one is held back
// until that is ruled out; nothing of a stop string, and nothing after it, is ever let through.

#include <string>
#include <string_view>
#include <vector>

namespace minfer {

class StopStrings {
  public:
    // Empty strings are ignored.
    explicit StopStrings(std::vector<std::string> strings);

    // The text that may be shown now. After a hit() it is the last.
    std::string push(std::string_view text);
    // What is still held back, when generation ends for another reason.
    std::string flush();

    bool hit() const { return hit_; }

  private:
    std::vector<std::string> strings_;
    std::string held_;
    bool hit_ = false;
};

}  // namespace minfer
