#pragma once
// The knobs of the software Metal device, for tests that see no metal-cpp. On a Mac the same calls
// leave the real device as it is.

#include <cstdint>

namespace minfer::test {

// Holds the system's device: backends made meanwhile share it.
class SoftwareMetal {
  public:
    // checked: every check there is, about five times slower. workers: threads that run
    // threadgroups; 0 for one per core. Another number makes another device, so backends made
    // before keep theirs.
    explicit SoftwareMetal(bool checked = true, int workers = 0);
    ~SoftwareMetal();
    SoftwareMetal(const SoftwareMetal&) = delete;
    SoftwareMetal& operator=(const SoftwareMetal&) = delete;

    // Threadgroups of dispatches from now on run in an order drawn from the seed; 0: ascending.
    void set_order_seed(uint64_t seed);

  private:
    void* device_;
};

}  // namespace minfer::test
