// Blocks handed in by a program: metal-cpp turns each std::function into one. A Block keeps its own
// copy, because the one handed in may lie on the caller's stack.
#pragma once

#include <Block.h>

#include <utility>

namespace softmetal::objc {

template <class Signature>
class Block;

template <class R, class... A>
class Block<R(A...)> {
  public:
    using Raw = R (^)(A...);

    Block() = default;
    explicit Block(Raw block) {
        if (block) block_ = Block_copy(block);
    }
    Block(const Block& other) : Block(other.block_) {}
    Block(Block&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Block& operator=(Block other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Block() {
        if (block_) Block_release(block_);
    }

    explicit operator bool() const { return block_ != nullptr; }
    R operator()(A... args) const { return block_(args...); }

  private:
    Raw block_ = nullptr;
};

}  // namespace softmetal::objc
