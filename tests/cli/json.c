/* json FILE PATH prints the value at PATH ("kernels.0.name"); fails when FILE is not one JSON value or has no such path. A
 * program of its own, since the scripts start it often: without LLVM it is there in a tenth of the time. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *step(const json_t *j, const char *key) {
    return json_is_array(j) ? json_array_get(j, (size_t)atol(key)) : json_object_get(j, key);
}

static int print_value(const char *file, char *path) {
    json_error_t e;
    json_t *root = json_load_file(file, JSON_DECODE_ANY, &e);
    const json_t *j = root;
    if (!root) {
        fprintf(stderr, "json: %s:%d: %s\n", file, e.line, e.text);
        return 1;
    }
    for (char *key = strtok(path, "."); key && j; key = strtok(NULL, "."))
        j = step(j, key);
    if (!j)
        fprintf(stderr, "json: %s: no such path\n", file);
    else if (json_is_string(j))
        printf("%s\n", json_string_value(j));
    else
        json_dumpf(j, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref(root);
    return j ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 3)
        return print_value(argv[1], argv[2]);
    fprintf(stderr, "usage: json FILE PATH\n");
    return 2;
}
