/* A kernel and two schedules of it written by hand, one as it stands and one made step by step, shown and compared. */
#include <stdio.h>
#include <tctune/tctune.h>

static const char kernel[] = "tensor X[128, 256] f32\n"
                             "tensor W[256, 128] f32 const\n"
                             "compute Y[i:128, j:128] = sum(k:256) X[i, k] * W[k, j]\n"
                             "output Y\n";

int main(void) {
    char error[1024], *nest = NULL;
    tctune_work *work = NULL;
    tctune_schedule *plain = NULL, *tiled = NULL;
    tctune_work_options wo = {.struct_size = sizeof wo, .te_text = kernel, .te = "gemm"};
    tctune_schedule_options so = {.struct_size = sizeof so, .threads = 1};
    tctune_verdict v = {.struct_size = sizeof v};
    static const char *const steps[] = {"j_o, j_v = split Y.j [_, 32]", "i_o, i_r = split Y.i [_, 8]",
                                        "reorder Y.j_o Y.i_o Y.k Y.i_r Y.j_v", "unroll Y.i_r", "vectorize Y.j_v"};
    tctune_status s = tctune_open(&wo, &work, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_schedule_new(work, 0, &so, &plain, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_schedule_copy(plain, &tiled, error, sizeof error);
    for (size_t i = 0; s == TCTUNE_OK && i < sizeof steps / sizeof *steps; i++)
        s = tctune_schedule_apply(tiled, steps[i], error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_schedule_print(tiled, "nest", &nest, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_schedule_compare(tiled, plain, 15, 0, &v, error, sizeof error);
    if (s == TCTUNE_OK)
        printf("%s\nas it stands %.1f us, tiled %.1f us: %.1f times as fast [%.1f, %.1f], %s; at the machine's limit %.1f us\n",
               nest, v.b * 1e6, v.a * 1e6, v.ratio, v.low, v.high, v.faster < 0 ? "it is faster" : "it is not faster",
               v.roof * 1e6);
    else
        fprintf(stderr, "%s\n", error);
    tctune_text_free(nest);
    tctune_schedule_free(tiled);
    tctune_schedule_free(plain);
    tctune_work_free(work);
    return s == TCTUNE_OK ? 0 : 1;
}
