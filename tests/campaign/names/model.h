/* A small ONNX model with a name at every place that has one, written byte by byte: any bytes may be a name. */
#ifndef TC_TESTS_CAMPAIGN_NAMES_MODEL_H
#define TC_TESTS_CAMPAIGN_NAMES_MODEL_H

#include <stdbool.h>

#include "support/strbuf.h"

typedef enum names_place {
    NAMES_PRODUCER,
    NAMES_GRAPH,
    NAMES_NODE, /* of two nodes: this one and the next */
    NAMES_SECOND,
    NAMES_INPUT,
    NAMES_OUTPUT,
    NAMES_WEIGHT,
    NAMES_BETWEEN,
    NAMES_SIZE, /* only where sizes vary */
    NAMES_KEY,  /* of metadata, and its value */
    NAMES_VALUE,
    NAMES_OPERATOR, /* of NAMES_UNKNOWN, and its domain */
    NAMES_DOMAIN,
    NAMES_FUNCTION, /* of NAMES_LOCAL, and its argument */
    NAMES_ARGUMENT,
    NAMES_PLACES
} names_place;

/* Names of values that differ from each other. */
static inline bool names_is_value(names_place p) {
    return (p >= NAMES_INPUT && p <= NAMES_SIZE) || p >= NAMES_OPERATOR;
}

/* A name for each place that nobody stumbles over. */
#define NAMES_PLAIN "p", "g", "n", "m", "x", "y", "w", "h", "batch", "key", "value", "Operator", "domain", "function", "argument"

typedef enum names_kind {
    NAMES_KNOWN,   /* y = relu(x + w) */
    NAMES_UNKNOWN, /* an operator that nobody knows */
    NAMES_LOCAL    /* a function of the model's own, which calls an operator that nobody knows */
} names_kind;

typedef struct names_model {
    names_kind kind;
    bool varies;
    tc_strbuf name[NAMES_PLACES];
} names_model;

void names_model_write(const names_model *m, tc_strbuf *out);

#endif
