/* The build is known by the build id, which the linker leaves in a note of the program's segments. The machine is known by
 * /etc/machine-id. All containers of one image have the same file, whatever machines they run on. So where the file belongs to an
 * image, or is missing, the machine is known by the kernel's boot id too: it is the same for all containers of one machine, until
 * the machine starts anew. Neither id leaves this process unhashed, as the manual of machine-id demands. Everybody on the machine
 * can read both. Only the user's secret makes a key of them. */
#include "support/system/identity.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "support/system/fs.h"
#include "support/system/image_int.h"
#include "support/system/secret.h"

/* ---- the build ---- */

typedef struct build_search {
    tc_digest *out;
    bool found;
} build_search;

/* The build id among the notes of one segment. */
static bool read_notes(const char *at, size_t left, tc_digest *out) {
    enum { BUILD_ID = 3 };
    while (left >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)at;
        size_t name = (n->n_namesz + 3u) & ~(size_t)3, size = sizeof *n + name + ((n->n_descsz + 3u) & ~(size_t)3);
        if (size > left)
            return false;
        if (n->n_type == BUILD_ID && n->n_namesz == 4 && !memcmp(at + sizeof *n, "GNU", 4)) {
            *out = tc_digest_of(at + sizeof *n + name, n->n_descsz);
            return true;
        }
        at += size;
        left -= size;
    }
    return false;
}

static void look_for_id(const struct dl_phdr_info *info, void *user) {
    build_search *b = user;
    for (int i = 0; i < info->dlpi_phnum && !b->found; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            b->found = read_notes((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, b->out);
    }
}

bool tc_build_identity(tc_digest *out) {
    build_search b = {.out = out};
    tc_own_image(look_for_id, &b);
    return b.found;
}

/* ---- the machine ---- */

/* The first line of a small file, without its end; how long it is. */
static size_t first_line(const char *path, char *out, size_t size) {
    out[tc_fs_read_head(path, out, size - 1)] = 0;
    out[strcspn(out, "\n")] = 0;
    return strlen(out);
}

enum { LONGEST = 64 /* characters of an id */ };

/* Systemd's manual: an image that was not started yet has "uninitialized" in its file, or nothing. */
void tc_machine_name(const tc_machine_files *f, bool is_image, tc_strbuf *out) {
    enum { LEAST = 32 /* digits: 128 bits */ };
    char id[LONGEST + 1], boot[LONGEST + 1];
    bool some = first_line(f->id, id, sizeof id) >= LEAST;
    if (some)
        tc_sb_add(out, id);
    if ((is_image || !some) && first_line(f->boot, boot, sizeof boot) > 0)
        tc_sb_printf(out, "%s%s", some ? " " : "", boot);
}

/* Images lie beneath containers as layers of an overlay; Docker and Podman also leave a mark. A file that such a container has from
 * its machine is taken for the image's too: that costs checks after the next start, and no more. */
static bool is_of_image(const char *path) {
    struct statfs fs;
    return (statfs(path, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC) || tc_fs_exists("/.dockerenv") ||
           tc_fs_exists("/run/.containerenv");
}

/* Fixed for all times: what is stored is compared with it. */
static bool seal_for(const char *purpose, const void *p, size_t n, tc_seal *out) {
    static const tc_machine_files files = {"/etc/machine-id", "/proc/sys/kernel/random/boot_id"};
    tc_secret secret;
    tc_strbuf b = {0};
    tc_machine_name(&files, is_of_image(files.id), &b);
    if (b.len == 0 || !tc_user_secret(&secret)) {
        tc_strbuf_free(&b);
        return false;
    }
    tc_sb_printf(&b, "\n%s", purpose);
    tc_seal key = tc_seal_of(secret.bytes, sizeof secret.bytes, b.data, b.len);
    tc_strbuf_free(&b);
    *out = tc_seal_of(key.hex, TC_SEAL_KEY, p, n);
    return true;
}

bool tc_host_identity(tc_seal *out) {
    return seal_for("tctune: the name of this user's machine", "", 0, out);
}

bool tc_host_seal(const void *p, size_t n, tc_seal *out) {
    return seal_for("tctune: what was found here", p, n, out);
}
