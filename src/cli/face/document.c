/* Reads the documents of the API for the command. */
#include <math.h>
#include <stdlib.h>

#include "cli/face/face.h"

void tc_cli_add_text(tc_cli_texts *list, const char *text) {
    tc_push(list, text);
    tc_push(list, NULL);
    list->len--;
}

int tc_cli_status(tctune_status s) {
    return s == TCTUNE_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

json_t *tc_cli_document(char *text) {
    json_t *j = tc_json_read_own(text);
    tctune_text_free(text);
    return j;
}

void tc_cli_tell_of(json_t *j, tc_cli_format format, tc_cli_printer *print) {
    if (format == TC_CLI_JSON)
        tc_cli_json_print(json_incref(j));
    else
        print(j, format);
}

void tc_cli_tell(char *text, tc_cli_format format, tc_cli_printer *print) {
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, format, print);
    json_decref(j);
}

const char *tc_cli_text(const json_t *j, const char *key) {
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "?";
}

long long tc_cli_number(const json_t *j, const char *key) {
    return (long long)json_integer_value(json_object_get(j, key));
}

double tc_cli_real(const json_t *j, const char *key) {
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

void tc_cli_json_print(json_t *j) {
    char *text = tc_json_text(j, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    tc_say_lines(stdout, text ? text : "");
    tc_say(stdout, "\n");
    free(text);
    json_decref(j);
}
