#include "bench/loads.h"

namespace minfer::bench {

Result<std::vector<std::pair<std::string, double>>> count_loads(
    const std::function<Result<>()>& step) {
    MINFER_TRY(step());
    return std::vector<std::pair<std::string, double>>();
}

}  // namespace minfer::bench
