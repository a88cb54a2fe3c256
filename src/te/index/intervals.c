/* Arithmetic of intervals. An end that does not fit into i64 becomes unbounded on its side. A result that may wrap to any value
 * is the interval of all values. */
#include "te/te_int.h"

static bool add_end(int64_t a, int64_t b, int64_t unbounded, int64_t *r) {
    *r = unbounded;
    return a == unbounded || b == unbounded || !__builtin_add_overflow(a, b, r);
}

tc_ival tc_ival_add(tc_ival a, tc_ival b) {
    tc_ival r;
    return add_end(a.lo, b.lo, TC_NINF, &r.lo) && add_end(a.hi, b.hi, TC_INF, &r.hi) ? r : TC_IVAL_ALL;
}

static bool mul_end(int64_t a, int64_t b, int64_t *r) {
    bool unbounded = a == TC_NINF || a == TC_INF || b == TC_NINF || b == TC_INF;
    *r = a == 0 || b == 0 ? 0 : (a < 0) != (b < 0) ? TC_NINF : TC_INF;
    return *r == 0 || unbounded || !__builtin_mul_overflow(a, b, r);
}

tc_ival tc_ival_scale(tc_ival a, int64_t k) {
    tc_ival r;
    if (k == 0)
        return (tc_ival){0, 0};
    if (!mul_end(a.lo, k, &r.lo) || !mul_end(a.hi, k, &r.hi))
        return TC_IVAL_ALL;
    return k > 0 ? r : (tc_ival){r.hi, r.lo};
}

tc_ival te_ival_mul(tc_ival a, tc_ival b) {
    int64_t p[4];
    if (!mul_end(a.lo, b.lo, &p[0]) || !mul_end(a.lo, b.hi, &p[1]) || !mul_end(a.hi, b.lo, &p[2]) || !mul_end(a.hi, b.hi, &p[3]))
        return TC_IVAL_ALL;
    tc_ival r = {p[0], p[0]};
    for (int i = 1; i < 4; i++)
        r = tc_ival_join(r, (tc_ival){p[i], p[i]});
    return r;
}

static int64_t div_bound(int64_t a, int64_t b, bool floors) {
    if (a == TC_NINF || a == TC_INF)
        return b == TC_INF ? (a == TC_NINF ? -1 : 0) : a;
    if (b == TC_INF)
        return a < 0 && floors ? -1 : 0;
    return floors ? tc_floor_div(a, b) : a / b;
}

/* Quotients and remainders by 0 are 0; negative divisors tell nothing beyond the dtype. Nor does INT64_MAX, which is TC_INF: the
 * largest dividends are divided by it, too. */
tc_ival tc_ival_div(tc_ival a, tc_ival b, bool floors) {
    static const tc_ival zero = {0, 0};
    if (b.lo == 0)
        return b.hi == 0 ? zero : tc_ival_join(tc_ival_div(a, (tc_ival){1, b.hi}, floors), zero);
    if (b.lo <= 0 || b.lo == TC_INF || b.lo > b.hi) /* contradictory facts leave nothing, and no end to divide by */
        return TC_IVAL_ALL;
    tc_ival lo = {div_bound(a.lo, b.lo, floors), div_bound(a.hi, b.lo, floors)};
    tc_ival hi = {div_bound(a.lo, b.hi, floors), div_bound(a.hi, b.hi, floors)};
    return tc_ival_join(lo, hi);
}

tc_ival te_ival_mod(tc_ival a, tc_ival b) {
    if (b.lo == 0)
        return b.hi == 0 ? b : tc_ival_join(te_ival_mod(a, (tc_ival){1, b.hi}), (tc_ival){0, 0});
    if (b.lo <= 0)
        return b.hi < 0 && b.lo != TC_NINF ? (tc_ival){b.lo + 1, 0} : TC_IVAL_ALL;
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    if (tc_ival_point(b) && tc_ival_bounded(a) && tc_floor_div(a.lo, b.lo) == tc_floor_div(a.hi, b.lo))
        return (tc_ival){tc_floor_mod(a.lo, b.lo), tc_floor_mod(a.hi, b.lo)};
    int64_t most = b.hi == TC_INF ? TC_INF : b.hi - 1;
    return (tc_ival){0, a.lo >= 0 ? TC_MIN(most, a.hi) : most};
}

tc_ival te_ival_tmod(tc_ival a, tc_ival b) {
    if (b.lo == 0)
        return b.hi == 0 ? b : tc_ival_join(te_ival_tmod(a, (tc_ival){1, b.hi}), (tc_ival){0, 0});
    if (b.lo <= 0)
        return TC_IVAL_ALL;
    int64_t most = b.hi == TC_INF ? TC_INF : b.hi - 1;
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    return (tc_ival){a.lo >= 0 ? 0 : TC_MAX(-most, a.lo), a.hi <= 0 ? 0 : TC_MIN(most, a.hi)};
}

tc_ival te_ival_min(tc_ival a, tc_ival b) {
    return (tc_ival){TC_MIN(a.lo, b.lo), TC_MIN(a.hi, b.hi)};
}

tc_ival te_ival_max(tc_ival a, tc_ival b) {
    return (tc_ival){TC_MAX(a.lo, b.lo), TC_MAX(a.hi, b.hi)};
}

tc_ival tc_ival_of_dtype(tc_dtype t) {
    if (tc_dtype_is_float(t))
        return TC_IVAL_ALL;
    return (tc_ival){tc_int_min(t), tc_int_max(t)};
}
