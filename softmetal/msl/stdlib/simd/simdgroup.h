// <metal_simdgroup> and <metal_quadgroup>: functions in which the lanes of a SIMD group or of a
// quad take part together.
#pragma once

namespace metal {

// ---- Movement

#define SM_MOVE(group, width)                                                                      \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle(T data, ushort lane, SM_SITE) {                          \
        return sm::group##_read<sm::value_of<T>>(data, lane, site);                                \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_broadcast(T data, ushort lane, SM_SITE) {                        \
        return sm::group##_read<sm::value_of<T>>(data, lane, site);                                \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_broadcast_first(T data, SM_SITE) {                               \
        return sm::group##_read_first<sm::value_of<T>>(data, site);                                \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_xor(T data, ushort mask, SM_SITE) {                      \
        return sm::group##_read<sm::value_of<T>>(data, (sm::lane_index() % width) ^ mask, site);   \
    }                                                                                              \
    /* A lane with no neighbour at that distance keeps its own value. */                           \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_up(T data, ushort delta, SM_SITE) {                      \
        unsigned lane = sm::lane_index() % width;                                                  \
        return sm::group##_read<sm::value_of<T>>(data, lane >= delta ? lane - delta : lane, site); \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_down(T data, ushort delta, SM_SITE) {                    \
        unsigned lane = sm::lane_index() % width;                                                  \
        return sm::group##_read<sm::value_of<T>>(data, lane + delta < width ? lane + delta : lane, \
                                                 site);                                            \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_rotate_up(T data, ushort delta, SM_SITE) {               \
        return sm::group##_read<sm::value_of<T>>(data, (sm::lane_index() - delta) % width, site);  \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_rotate_down(T data, ushort delta, SM_SITE) {             \
        return sm::group##_read<sm::value_of<T>>(data, (sm::lane_index() + delta) % width, site);  \
    }                                                                                              \
    /* Inside vectors of `modulo` lanes; what would come from outside comes from `filling`: */     \
    /* its far end, as if it lay beside the data. */                                               \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_and_fill_up(T data, sm::value_of<T> filling,             \
                                                      ushort delta, ushort modulo, SM_SITE) {      \
        unsigned lane = sm::lane_index() % width, in_vector = lane % modulo;                       \
        unsigned from = lane - in_vector + (in_vector - delta) % modulo;                           \
        return sm::group##_read_either<sm::value_of<T>>(data, filling, from, in_vector < delta,    \
                                                        site);                                     \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_and_fill_up(T data, sm::value_of<T> filling,             \
                                                      ushort delta, SM_SITE) {                     \
        return group##_shuffle_and_fill_up<T>(data, filling, delta, ushort(width), site);          \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_and_fill_down(T data, sm::value_of<T> filling,           \
                                                        ushort delta, ushort modulo, SM_SITE) {    \
        unsigned lane = sm::lane_index() % width, in_vector = lane % modulo;                       \
        unsigned from = lane - in_vector + (in_vector + delta) % modulo;                           \
        return sm::group##_read_either<sm::value_of<T>>(data, filling, from,                       \
                                                        in_vector + delta >= modulo, site);        \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_shuffle_and_fill_down(T data, sm::value_of<T> filling,           \
                                                        ushort delta, SM_SITE) {                   \
        return group##_shuffle_and_fill_down<T>(data, filling, delta, ushort(width), site);        \
    }

SM_MOVE(simd, 32u)
SM_MOVE(quad, 4u)
#undef SM_MOVE

// ---- Reductions and scans

#define SM_REDUCE(group, name, op)                                                                 \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> group##_##name(T data, SM_SITE) {                                        \
        typedef sm::value_of<T> V;                                                                 \
        return static_cast<V>(                                                                     \
            sm::group##_reduce<op>(static_cast<sm::accumulate_t<V>>(static_cast<V>(data)), site)); \
    }
#define SM_SCAN(name, op)                                                                          \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> simd_prefix_inclusive_##name(T data, SM_SITE) {                          \
        typedef sm::value_of<T> V;                                                                 \
        return static_cast<V>(                                                                     \
            sm::simd_inclusive<op>(static_cast<sm::accumulate_t<V>>(static_cast<V>(data)), site)); \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> simd_prefix_exclusive_##name(T data, SM_SITE) {                          \
        typedef sm::value_of<T> V;                                                                 \
        return static_cast<V>(                                                                     \
            sm::simd_exclusive<op>(static_cast<sm::accumulate_t<V>>(static_cast<V>(data)), site)); \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> quad_prefix_inclusive_##name(T data, SM_SITE) {                          \
        typedef sm::value_of<T> V;                                                                 \
        return static_cast<V>(sm::quad_scan<op>(                                                   \
            static_cast<sm::accumulate_t<V>>(static_cast<V>(data)), false, site));                 \
    }                                                                                              \
    template <class T>                                                                             \
    SM_FN sm::value_of<T> quad_prefix_exclusive_##name(T data, SM_SITE) {                          \
        typedef sm::value_of<T> V;                                                                 \
        return static_cast<V>(sm::quad_scan<op>(                                                   \
            static_cast<sm::accumulate_t<V>>(static_cast<V>(data)), true, site));                  \
    }
#define SM_REDUCE_BOTH(name, op) SM_REDUCE(simd, name, op) SM_REDUCE(quad, name, op)
SM_REDUCE_BOTH(sum, sm::op_sum)
SM_REDUCE_BOTH(product, sm::op_product)
SM_REDUCE_BOTH(min, sm::op_min)
SM_REDUCE_BOTH(max, sm::op_max)
SM_REDUCE_BOTH(and, sm::op_and)
SM_REDUCE_BOTH(or, sm::op_or)
SM_REDUCE_BOTH(xor, sm::op_xor)
SM_SCAN(sum, sm::op_sum)
SM_SCAN(product, sm::op_product)
#undef SM_REDUCE_BOTH
#undef SM_REDUCE
#undef SM_SCAN

// ---- Votes

// A bit for each lane, lane 0 lowest.
class simd_vote {
  public:
    typedef uint64_t vote_t;
    SM_FN explicit constexpr simd_vote(vote_t v = 0) : v_(v) {}
    SM_FN explicit constexpr operator vote_t() const { return v_; }
    // Of the lanes this SIMD group has, inactive ones included.
    SM_FN bool all() const { return (v_ & sm::present_lanes()) == sm::present_lanes(); }
    SM_FN bool any() const { return (v_ & sm::present_lanes()) != 0; }

  private:
    vote_t v_;
};
class quad_vote {
  public:
    typedef uint64_t vote_t;
    SM_FN explicit constexpr quad_vote(vote_t v = 0) : v_(v) {}
    SM_FN explicit constexpr operator vote_t() const { return v_; }
    SM_FN bool all() const { return (v_ & present()) == present(); }
    SM_FN bool any() const { return (v_ & present()) != 0; }

  private:
    SM_FN static unsigned present() {
        return sm::present_lanes() >> (sm::lane_index() & 28u) & 15u;
    }
    vote_t v_;
};

#define SM_VOTE(group)                                                    \
    SM_FN group##_vote group##_ballot(bool vote, SM_SITE) {               \
        unsigned active;                                                  \
        return group##_vote(sm::group##_ballot_bits(vote, active, site)); \
    }                                                                     \
    SM_FN group##_vote group##_active_threads_mask(SM_SITE) {             \
        unsigned active;                                                  \
        sm::group##_ballot_bits(true, active, site);                      \
        return group##_vote(active);                                      \
    }                                                                     \
    SM_FN bool group##_any(bool vote, SM_SITE) {                          \
        unsigned active;                                                  \
        return sm::group##_ballot_bits(vote, active, site) != 0;          \
    }                                                                     \
    SM_FN bool group##_all(bool vote, SM_SITE) {                          \
        unsigned active;                                                  \
        return sm::group##_ballot_bits(vote, active, site) == active;     \
    }
SM_VOTE(simd)
SM_VOTE(quad)
#undef SM_VOTE

SM_FN bool simd_is_first(SM_SITE) {
    unsigned active;
    sm::simd_ballot_bits(true, active, site);
    return static_cast<unsigned>(__builtin_ctz(active)) == sm::lane_index();
}
SM_FN bool quad_is_first(SM_SITE) {
    unsigned active;
    sm::quad_ballot_bits(true, active, site);
    return static_cast<unsigned>(__builtin_ctz(active)) == (sm::lane_index() & 3u);
}

// Kernels have no helper threads; only fragment functions do.
SM_FN bool simd_is_helper_thread() { return false; }
SM_FN bool quad_is_helper_thread() { return false; }

}  // namespace metal
