#include "graph/weight.h"

namespace minfer {

Result<> check_weight(const Weight& weight) {
    const auto& shape = weight.shape;
    if (shape[0] == 0 || shape[1] == 0 || shape[2] != 1 || shape[3] != 1)
        return fail(Fault::BadInput,
                    "weight '{}': shape [{}, {}, {}, {}], one or two dimensions run", weight.name,
                    shape[0], shape[1], shape[2], shape[3]);
    if (shape[0] % info(weight.dtype).block_values != 0)
        return fail(Fault::BadInput, "weight '{}': rows of {} elements, {} needs multiples of {}",
                    weight.name, shape[0], name(weight.dtype), info(weight.dtype).block_values);
    const auto bytes = row_bytes(weight.dtype, shape[0]) * shape[1];
    if (weight.data.size() != bytes)
        return fail(Fault::BadInput, "weight '{}': {} [{}, {}] takes {} bytes, found {}",
                    weight.name, name(weight.dtype), shape[0], shape[1], bytes, weight.data.size());
    return {};
}

Result<> check_known(const Weight& known, const Weight& weight) {
    if (known.data.data() == weight.data.data() && known.data.size() == weight.data.size() &&
        known.dtype == weight.dtype && known.shape == weight.shape)
        return {};
    return fail(Fault::BadInput,
                "weight '{}' is registered already, as {} [{}, {}], and this {} [{}, {}] has other "
                "data",
                weight.name, name(known.dtype), known.shape[0], known.shape[1], name(weight.dtype),
                weight.shape[0], weight.shape[1]);
}

}  // namespace minfer
