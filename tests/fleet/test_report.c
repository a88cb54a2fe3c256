/* What is told of a fleet: of what tuners say, as a document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "report/report.h"
#include "server.h"
#include "support/vec.h"

static test_server server;
static tc_error err;

static void check(tc_status s) {
    if (s != TC_OK)
        fail_msg("%s", err.msg);
}

static void attend(tc_fleet_bus *b, const char *name, const char *key, tc_fleet_ranking *rankings, size_t n) {
    tc_strbuf text = {0};
    tc_fleet_tuner_write(&(tc_fleet_tuner){.name = name, .key = key, .weight = 1, .rankings = {rankings, n}}, &text);
    check(tc_fleet_bus_attend(b, name, tc_sb_str(&text), &err));
    tc_strbuf_free(&text);
}

static void expect(const json_t *all, const char *key, const char *x, const char *y, int pairs, int flipped, bool differ) {
    size_t i;
    const json_t *o;
    json_array_foreach(all, i, o) {
        const char *is, *first, *second;
        int n, flips, differs;
        double share;
        assert_int_equal(json_unpack((json_t *)(uintptr_t)o, "{s:s, s:[s, s], s:i, s:i, s:f, s:b}", "key", &is, "workers", &first,
                                     &second, "pairs", &n, "flipped", &flips, "flip_share", &share, "differ", &differs),
                         0);
        if (strcmp(is, key) || strcmp(first, x) || strcmp(second, y))
            continue;
        assert_true(n == pairs && flips == flipped && differs == differ && share == (double)flipped / pairs);
        return;
    }
    fail_msg("nothing is told of %s and %s of the key %s", x, y, key);
}

/* Of all tuners of a key together, each pair of workers once. */
static void rankings_of_tuners_count_together(void **state) {
    (void)state;
    tc_fleet_bus *b;
    json_t *j;
    tc_fleet_ranking one[] = {{{"w1", "w2"}, {.pairs = 6, .flipped = 1}}, {{"w1", "w3"}, {.pairs = 4, .flipped = 0}}},
                     two[] = {{{"w1", "w2"}, {.pairs = 6, .flipped = 3}}},
                     other[] = {{{"w1", "w2"}, {.pairs = 20, .flipped = 0}}};
    test_server_start(&server, "");
    check(tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "test", &b, &err));
    attend(b, "t1", "k1", one, TC_LEN(one));
    attend(b, "t2", "k1", two, TC_LEN(two));
    attend(b, "t3", "k2", other, TC_LEN(other));
    attend(b, "t4", "k2", NULL, 0);
    tc_fleet_crowd c = tc_fleet_crowd_new();
    check(tc_report_fleet(&c, b, &j, &err));
    const json_t *all = json_object_get(j, "rankings");
    assert_int_equal(json_array_size(json_object_get(j, "tuners")), 4);
    assert_int_equal(json_array_size(all), 3);
    expect(all, "k1", "w1", "w2", 12, 4, true);
    expect(all, "k1", "w1", "w3", 4, 0, false);
    expect(all, "k2", "w1", "w2", 20, 0, false);
    json_decref(j);
    tc_fleet_crowd_free(&c);
    tc_fleet_bus_close(b);
    test_server_stop(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rankings_of_tuners_count_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
