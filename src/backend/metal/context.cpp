#include "backend/metal/context.h"

namespace minfer::metal {

Result<std::unique_ptr<Context>> Context::create(const MetalOptions& options) {
    constexpr double kLongestBound = 1e6;  // seconds; far beyond it a duration overflows
    if (!(options.submit_bound_seconds > 0 && options.submit_bound_seconds <= kLongestBound))
        return fail(Fault::BadInput,
                    "a command buffer is waited for {} s; more than 0 and up to {}"
                    " are allowed",
                    options.submit_bound_seconds, kLongestBound);
    const auto chunks = options.attention.chunks.value_or(1);
    if (chunks == 0 || chunks > kMaxAttentionChunks)
        return fail(Fault::BadInput, "{} chunks of one token's cells; 1 to {} are allowed", chunks,
                    kMaxAttentionChunks);
    auto device = MINFER_TRY(Device::create(options.library));
    auto context = std::unique_ptr<Context>(new Context(options, std::move(device)));
    if (!options.gpu_trace.empty())
        context->gpu_capture = MINFER_TRY(GpuCapture::start(*context->device, options.gpu_trace));
    context->budget_bytes =
        options.memory_budget_bytes.value_or(context->device->limits().working_set_bytes / 4 * 3);
    context->kernels = MINFER_TRY(Kernels::build(*context->device));
    return context;
}

Context::~Context() {
    const AutoreleaseScope scope;
    // An error has nobody left to hear it, but work that was given up has to end all the same: it
    // may read pages of the model file, which their owner unmaps next. Metal keeps its own buffers
    // for as long as a command buffer needs them, not pages that were lent to it.
    if (const auto done = submit(); !done && completion_.is_pending()) completion_.wait_for_end();
}

Result<CommandBuffer*> Context::open() {
    if (!commands_) {
        MINFER_TRY(wait_for_abandoned());
        commands_.emplace(MINFER_TRY(CommandBuffer::open(*device)));
    }
    return &*commands_;
}

Result<> Context::submit() {
    MINFER_TRY(wait_for_abandoned());
    if (!commands_) return {};
    auto done = commands_->submit(options.submit_bound_seconds, completion_);
    ++counters.command_buffers;
    counters.dispatches += commands_->dispatches();
    counters.barriers += commands_->barriers();
    commands_.reset();
    if (done)
        captures.deliver();
    else
        captures.drop();
    return done;
}

Result<> Context::capture(const BufRef& from, Backend::Seen seen) {
    const auto value = pool.slice(from);
    if (!commands_) {
        MINFER_TRY(wait_for_abandoned());
        seen({value.host(), value.bytes});
        return {};
    }
    const auto staging = MINFER_TRY(pool.alloc(from.bytes, false, weights.bytes(), budget_bytes));
    const auto to = BufRef{.backend = BackendId::Metal, .id = staging, .bytes = from.bytes};
    if (auto copied = commands_->copy(value, pool.slice(to)); !copied) {
        pool.free(staging);
        return copied;
    }
    captures.add(staging, from.bytes, std::move(seen));
    return {};
}

std::unexpected<Error> Context::give_up_split(Error cause) {
    if (commands_)
        if (const auto done = submit(); !done)
            cause.what += fmt::format("; what came before it: {}", done.error().what);
    return std::unexpected(std::move(cause));
}

// Its kernels may still write to buffers that are about to be used again.
Result<> Context::wait_for_abandoned() {
    if (!completion_.is_pending() || completion_.wait(options.submit_bound_seconds)) return {};
    return fail(Fault::Timeout, "a command buffer given up earlier did not end within another {} s",
                options.submit_bound_seconds);
}

Result<Slice> Context::words_in(const Call& call, size_t source, size_t count) const {
    if (source >= call.in.size())
        return fail(Fault::BadInput, "source {} is missing, there are {}", source, call.in.size());
    if (count == 0) return fail(Fault::BadInput, "no elements are wanted of source {}", source);
    const auto& ref = call.in[source];
    if (ref.bytes != count * 4)
        return fail(Fault::BadInput, "source {} has {} bytes, {} are wanted", source, ref.bytes,
                    count * 4);
    return pool.slice(ref);
}

Result<Slice> Context::words_out(const Call& call, size_t count) const {
    if (count == 0) return fail(Fault::BadInput, "the output has no elements");
    if (call.out.bytes != count * 4)
        return fail(Fault::BadInput, "the output has {} bytes, {} are wanted", call.out.bytes,
                    count * 4);
    return pool.slice(call.out);
}

Result<std::span<const int32_t>> Context::ints_in(const Call& call, size_t source,
                                                  size_t count) const {
    const auto slice = MINFER_TRY(words_in(call, source, count));
    return std::span(reinterpret_cast<const int32_t*>(slice.host()), count);
}

Result<const Weights::Placed*> Context::weight(const Call& call, size_t index) const {
    if (index >= call.weights.size()) {
        const auto names = op_weights(call.node->op);
        return fail(Fault::NotFound, "weight '{}' is not on the device",
                    index < names.size() ? names[index] : "");
    }
    const auto& placed = weights.at(call.weights[index]);
    if (placed.slice.buffer == nullptr)
        return fail(Fault::NotFound, "weight '{}' was registered and not placed",
                    placed.weight.name);
    return &placed;
}

Result<Slice> Context::vector_weight(const Call& call, size_t index, size_t count) const {
    const auto* const placed = MINFER_TRY(weight(call, index));
    const auto& found = placed->weight;
    if (found.dtype != DType::F32 || elements(found.shape) != count)
        return fail(Fault::BadInput, "weight '{}' is {} [{}, {}], not F32 [{}]", found.name,
                    name(found.dtype), found.shape[0], found.shape[1], count);
    return placed->slice;
}

Result<> Context::prepare_matrix(DType dtype) {
    return runs_as_weight(dtype) ? kernels.build_for(*device, dtype, options) : Result<>();
}

Result<Slice> Context::matrix_weight(const Call& call, size_t index, DType dtype, size_t in_dim,
                                     size_t rows) const {
    const auto* const placed = MINFER_TRY(weight(call, index));
    const auto& found = placed->weight;
    if (found.dtype != dtype || found.shape != Shape{in_dim, rows, 1, 1})
        return fail(Fault::BadInput, "weight '{}' is {} [{}, {}], not {} [{}, {}]", found.name,
                    name(found.dtype), found.shape[0], found.shape[1], name(dtype), in_dim, rows);
    return placed->slice;
}

}  // namespace minfer::metal
