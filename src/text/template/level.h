#pragma once

namespace minfer::jinja {

// Counts how deep calls are within each other.
class Level {
  public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    int& depth_;
};

}  // namespace minfer::jinja
