/* What kept.h describes. */
#include "measure/machine/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/hash.h"
#include "support/log.h"
#include "support/strbuf.h"
#include "support/system/emulation.h"
#include "support/system/fs.h"
#include "support/system/user_folder.h"
#include "support/vec.h"

/* The processor's name, or on Arm its number: the first such line of /proc/cpuinfo. "": it has none. */
static void name_processor(char *name, size_t size) {
    enum { HEAD = 4096 };
    static const char *const keys[] = {"\nmodel name", "\nCPU part", "\nuarch"};
    char text[HEAD + 1];
    text[tc_fs_read_head("/proc/cpuinfo", text, HEAD)] = 0;
    *name = 0;
    for (size_t i = 0; i < TC_LEN(keys) && !*name; i++) {
        const char *at = strstr(text, keys[i]);
        if (at)
            snprintf(name, size, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    }
}

char *tc_meas_kept_path(const char *kind, const char *key) {
    char host[256] = "", processor[160], *folder = tc_user_folder(), *path = NULL;
    tc_strbuf b = {0};
    if (folder) {
        gethostname(host, sizeof host - 1);
        name_processor(processor, sizeof processor);
        tc_sb_printf(&b, "%s %s %s%s", host, processor, key, tc_is_emulated() ? " emulated" : "");
        tc_digest hash = tc_digest_of(b.data, b.len);
        tc_sb_clear(&b);
        tc_sb_printf(&b, "%s/%s-%s.json", folder, kind, hash.hex);
        path = tc_xstrdup(tc_sb_str(&b));
    }
    tc_strbuf_free(&b);
    free(folder);
    return path;
}

json_t *tc_meas_kept_load(const char *path) {
    char *text = NULL;
    if (!path || tc_fs_read_text_most(path, TC_BYTES_DOCUMENT, &text, NULL) != TC_OK)
        return NULL;
    json_t *j = tc_json_read(text, TC_INPUT_DOCUMENT, 0, NULL);
    free(text);
    return j;
}

void tc_meas_kept_store(const char *path, json_t *j) {
    char *text = path ? tc_json_text(j, JSON_COMPACT) : NULL;
    tc_error why = {0};
    if (text && tc_fs_write(path, text, strlen(text), &why) != TC_OK)
        tc_log(TC_LOG_INFO, "what was measured of the machine could not be stored: %s", why.msg);
    free(text);
    json_decref(j);
}
