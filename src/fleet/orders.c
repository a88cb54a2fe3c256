/* Orders: what a tuner's user tells workers.
 *
 * An order is kept under its worker's key and name until another one takes its place. The order to leave is for workers that
 * are there: a worker that starts later sees that the order is older, and stays. The order to take no jobs holds for every
 * worker of that name, until it is released. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "fleet/message_int.h"
#include "fleet/orders.h"
#include "support/log.h"

static const char *const words[TC_FLEET_NORDERS] = {
    [TC_FLEET_DRAIN] = "drain", [TC_FLEET_KICK] = "kick", [TC_FLEET_QUARANTINE] = "quarantine", [TC_FLEET_RELEASE] = "release"};

typedef tc_fleet_told order;

bool tc_fleet_order_parse(const char *word, tc_fleet_order *out) {
    for (int i = 0; i < TC_FLEET_NORDERS; i++)
        if (strcmp(words[i], word) == 0) {
            *out = (tc_fleet_order)i;
            return true;
        }
    return false;
}

/* ---- the document ---- */

static void write_order(const order *r, tc_strbuf *out) {
    json_t *o = fleet_begin("order");
    fleet_put_text(o, "name", r->name);
    fleet_put_text(o, "key", r->key);
    fleet_put_text(o, "leave", r->leave);
    tc_json_set(o, "quarantined", json_boolean(r->quarantined));
    fleet_put_text(o, "why", r->why);
    fleet_end(o, out);
}

tc_status tc_fleet_told_read(const char *text, tc_arena *a, tc_fleet_told *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (order){0};
    json_t *o = fleet_open(&r, text, "order");
    if (!o)
        return TC_BAD_INPUT;
    out->name = fleet_word(&r, o, "name");
    out->key = fleet_word(&r, o, "key");
    out->leave =
        fleet_text(&r, o, "leave", (fleet_text_limits){.most = TC_FLEET_NAME, .may_be_empty = true, .shown = FLEET_LINE});
    out->quarantined = fleet_flag(&r, o, "quarantined");
    out->why = fleet_text(&r, o, "why", (fleet_text_limits){.most = TC_FLEET_REASON, .may_be_empty = true, .shown = FLEET_LINE});
    json_decref(o);
    TC_TRY(fleet_outcome(&r));
    if (*out->leave && strcmp(out->leave, words[TC_FLEET_DRAIN]) != 0 && strcmp(out->leave, words[TC_FLEET_KICK]) != 0)
        return tc_fail(err, TC_BAD_INPUT, "it tells workers to leave in an unknown way: %s", out->leave);
    return TC_OK;
}

bool tc_fleet_told_kick(const tc_fleet_told *t) {
    return strcmp(t->leave, words[TC_FLEET_KICK]) == 0;
}

/* ---- giving ---- */

static bool is_meant(const tc_fleet_worker *w, const char *who) {
    return fnmatch(who, w->name, 0) == 0 || fnmatch(who, w->key, 0) == 0;
}

static bool is_there(const tc_fleet_crowd *c, const order *o) {
    for (size_t i = 0; i < c->workers.len; i++)
        if (strcmp(c->workers.data[i].name, o->name) == 0 && strcmp(c->workers.data[i].key, o->key) == 0)
            return true;
    return false;
}

/* A worker that was quarantined and is away can be released. */
static void add_quarantined(void *user, const char *text, double age) {
    tc_fleet_crowd *c = user;
    order o;
    tc_error why = {0};
    tc_status s = tc_fleet_told_read(text, c->arena, &o, &why);
    tc_fleet_worker away = {.name = o.name, .key = o.key, .host = "", .age = age};
    if (s != TC_OK)
        tc_log(TC_LOG_WARN, "an order is left out: %s", why.msg);
    else if (o.quarantined && !is_there(c, &o))
        tc_push(&c->workers, away);
}

static tc_status nobody_is(const tc_fleet_crowd *c, const char *who, tc_fleet_bus *b, tc_error *err) {
    enum { SHOWN = 12 };
    tc_strbuf there = {0};
    for (size_t i = 0; i < c->workers.len && i < SHOWN; i++)
        tc_sb_printf(&there, "%s%s of %s", i ? ", " : "; there are ", c->workers.data[i].name, c->workers.data[i].key);
    if (c->workers.len > SHOWN)
        tc_sb_printf(&there, ", and %zu more (`tctune fleet status`)", c->workers.len - SHOWN);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "%s: no worker has the name or the key %s%s", tc_fleet_bus_url(b), who,
                          there.len ? tc_sb_str(&there) : "; no worker is there at all");
    tc_strbuf_free(&there);
    return s;
}

/* Keeps those whom one of `who` means; each means somebody. */
static tc_status choose(tc_fleet_crowd *c, const char *const *who, tc_fleet_bus *b, tc_error *err) {
    size_t kept = 0;
    for (size_t k = 0; who[k]; k++) {
        bool any = false;
        for (size_t i = 0; i < c->workers.len; i++)
            any |= is_meant(&c->workers.data[i], who[k]);
        if (!any)
            return nobody_is(c, who[k], b, err);
    }
    for (size_t i = 0; i < c->workers.len; i++) {
        bool meant = false;
        for (size_t k = 0; who[k]; k++)
            meant |= is_meant(&c->workers.data[i], who[k]);
        if (meant)
            c->workers.data[kept++] = c->workers.data[i];
    }
    c->workers.len = kept;
    return TC_OK;
}

/* What stands for it now; a damaged order is none. */
static tc_status standing(tc_fleet_bus *b, const tc_fleet_worker *w, tc_arena *a, order *out, tc_error *err) {
    const char *text;
    uint64_t number;
    tc_error why = {0};
    TC_TRY(tc_fleet_bus_order(b, w->key, w->name, a, &text, &number, err));
    if (!text || tc_fleet_told_read(text, a, out, &why) != TC_OK)
        *out = (order){.why = ""};
    return TC_OK;
}

static tc_status tell(tc_fleet_bus *b, const tc_fleet_worker *w, tc_fleet_order what, const char *why, tc_arena *a,
                      tc_error *err) {
    order o;
    if (what == TC_FLEET_RELEASE)
        return tc_fleet_bus_tell(b, w->key, w->name, NULL, err);
    TC_TRY(standing(b, w, a, &o, err));
    o.name = w->name;
    o.key = w->key;
    o.leave = what == TC_FLEET_QUARANTINE ? "" : words[what];
    o.quarantined |= what == TC_FLEET_QUARANTINE;
    o.why = *why || !o.quarantined ? why : o.why;
    tc_strbuf text = {0};
    write_order(&o, &text);
    tc_status s = tc_fleet_bus_tell(b, w->key, w->name, tc_sb_str(&text), err);
    tc_strbuf_free(&text);
    return s;
}

tc_status tc_fleet_tell(tc_fleet_bus *b, tc_fleet_order what, const char *const *who, const char *why, tc_fleet_crowd *told,
                        tc_error *err) {
    if (strlen(why) > TC_FLEET_REASON || !fleet_shows(why, FLEET_LINE))
        return tc_fail(err, TC_BAD_INPUT, "the reason must be one line of plain text (no control characters), at most %d bytes",
                       TC_FLEET_REASON);
    TC_TRY(tc_fleet_crowd_see(told, b, err));
    if (what == TC_FLEET_RELEASE)
        TC_TRY(tc_fleet_bus_orders(b, add_quarantined, told, err));
    TC_TRY(choose(told, who, b, err));
    for (size_t i = 0; i < told->workers.len; i++)
        TC_TRY(tell(b, &told->workers.data[i], what, why, told->arena, err));
    return TC_OK;
}
