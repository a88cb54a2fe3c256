/* Runs the kernels that tctune_add_model() built: the outputs of a softmax-free classifier must be finite and not all the same. */
#include <math.h>
#include <mlp.h>
#include <stdio.h>

int main(void) {
    static float image[28 * 28], scores[10];
    for (int i = 0; i < 28 * 28; i++)
        image[i] = (float)(i % 7) / 7.0f;
    const void *in[mlp_NINPUTS] = {image};
    void *out[mlp_NOUTPUTS] = {scores};
    if (mlp_run(in, out) != 0)
        return 1;
    int differ = 0;
    for (int i = 0; i < 10; i++) {
        if (!isfinite(scores[i]))
            return 2;
        differ |= scores[i] != scores[0];
    }
    printf("%g\n", (double)scores[0]);
    return differ ? 0 : 3;
}
