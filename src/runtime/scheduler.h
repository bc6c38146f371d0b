#pragma once
// Serves several requests over one engine: which of them get cells, what they can reuse of what
// others evaluated, and whose tokens go into the next graph.

#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "runtime/engine.h"
#include "runtime/saved_sequence.h"

namespace minfer {

struct SchedulerOptions {
    size_t n_slots = 1;         // requests that run at once
    size_t prompt_chunk = 512;  // most prompt tokens in one step; decoding goes on in between
    size_t decode_batch = 16;   // most tokens of running answers in one step
    bool batch = true;          // several requests in one graph; else they take turns
    bool reuse = true;          // rows of equal prefixes; by sharing cells if `share`, else copied
    bool share = true;
    size_t saved_bytes = 0;  // memory for idle sequences that had to leave the arena
};

enum class RequestEnd : uint8_t { Stopped, TokenLimit, ContextFull, Cancelled };

struct RequestResult {
    RequestEnd end = RequestEnd::Stopped;
    size_t n_prompt = 0;     // tokens given
    size_t n_reused = 0;     // of those, not evaluated anew
    size_t n_generated = 0;  // tokens `next` gave
    size_t n_shifted = 0;    // tokens forgotten to make room
};

struct Request {
    std::vector<TokenId> prompt;  // at least one token
    size_t max_tokens = SIZE_MAX;
    // When the arena is full, forget half of what lies behind the first so many tokens and go on
    // (context_shift.h); none: ContextFull.
    std::optional<size_t> shift_keep;
    // Given the logits after the tokens so far: the next token, or none to stop. An error ends this
    // request only.
    std::function<Result<std::optional<TokenId>>(std::span<const float> logits)> next;
    // Called once. An error of the device ends the requests whose tokens were in the failed graph,
    // or whose rows a failed move has cost, and no others.
    std::function<void(const Result<RequestResult>&)> done;
};

enum class RequestId : uint64_t {};

class Scheduler {
  public:
    // The engine outlives the scheduler, which uses sequences from 1 on.
    Scheduler(Engine& engine, SchedulerOptions options);

    // Queues a request. BadInput, naming both numbers, for a prompt that is empty or leaves no cell
    // for an answer.
    Result<RequestId> submit(Request request);
    // The request ends when the next step begins; nothing happens for one that has ended.
    void cancel(RequestId id);

    // Evaluates one graph, and says whether there is more to do.
    bool step();

    size_t n_waiting() const { return waiting_.size(); }
    size_t n_running() const { return running_.size(); }

  private:
    struct Waiting {
        RequestId id;
        Request request;
    };
    struct Running {
        RequestId id;
        Request request;
        SeqId seq;
        std::vector<TokenId> pending;  // to be evaluated: the rest of the prompt, or one token
        RequestResult result;
        bool is_prompt() const { return result.n_generated == 0; }
    };
    struct Piece {  // what of a request goes into a step
        Running* running;
        size_t n_tokens;
    };

    void drop_cancelled();
    // Ends whoever lost its cells to a move that failed, running or idle.
    void drop_lost();
    bool is_lost(SeqId seq) const { return engine_.cache().store().find(seq) == nullptr; }
    void admit();
    // A sequence with room for the request and a prefix of its prompt in it; none while others have
    // to end first.
    Result<std::optional<SeqId>> place(const Request& request);
    Result<std::optional<SeqId>> place_on(SeqId donor, size_t rows, size_t capacity);
    Result<std::optional<SeqId>> place_saved(std::span<const TokenId> prompt, size_t resident,
                                             size_t capacity);
    Result<bool> reserve(SeqId seq, size_t capacity, std::optional<SeqId> keep);
    // False when the arena is full; an error of the device otherwise.
    Result<bool> grow(SeqId seq);
    // Takes the sequence that was idle longest out of the arena; false when there is none.
    bool evict(std::optional<SeqId> keep);

    void choose();  // pieces_
    void run();     // them
    void advance(Running& running, std::span<const float> logits);
    void finish(Running& running, const Result<RequestResult>& result);
    SeqId new_sequence() { return SeqId{++last_seq_}; }

    Engine& engine_;
    SchedulerOptions options_;
    std::deque<Waiting> waiting_;
    std::list<Running> running_;      // in the order of their turns
    std::list<SeqId> idle_;           // kept for their prefixes; the one idle longest first
    std::list<SavedSequence> saved_;  // the oldest first
    std::set<RequestId> cancelled_;
    std::vector<Piece> pieces_;  // of the step under way
    std::vector<BatchPart> parts_;
    Error lost_;            // why sequences are gone
    bool is_full_ = false;  // whoever waits was refused, and nobody ended since
    uint64_t last_id_ = 0;
    uint32_t last_seq_ = 0;
};

}  // namespace minfer
