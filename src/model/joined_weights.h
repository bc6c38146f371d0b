#pragma once
// Weights made of the rows of others: one product instead of three in a decode step, for a second
// copy of those bytes.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/backend.h"

namespace minfer {

class JoinedWeights {
  public:
    // For each entry one weight with the rows of its parts in order; parts have one type and one
    // row length. OutOfMemory naming the bytes.
    struct Join {
        std::string name;
        std::vector<const Weight*> parts;
    };
    static Result<JoinedWeights> make(std::span<const Join> joins);

    std::span<const Weight> weights() const { return weights_; }
    // Whole pages holding all of them, so that a device can use them in place.
    std::span<const std::byte> pages() const { return {pages_.get(), size_}; }

  private:
    struct Free {
        void operator()(std::byte* pages) const;
    };
    std::unique_ptr<std::byte, Free> pages_;
    size_t size_ = 0;
    std::vector<Weight> weights_;
};

}  // namespace minfer
