/* Convolutional networks as an exporter writes them for inference: batch norms are folded into the weights and biases of the
 * convolutions. He initialisation keeps the scale of activations through all layers. The last convolution of each residual branch
 * is damped. */
#include <math.h>

#include "graph/zoo/zoo_int.h"

typedef struct conv {
    int in, out, kernel, stride, group;
    double gain; /* 1: He */
} conv;

#define NAME(z, ...) tc_arena_printf((z)->names, __VA_ARGS__)

static void write_conv(tc_graph_zoo_ctx *z, const char *p, const conv *c, const char *input, const char *output) {
    int per_group = c->in / c->group, pad = c->kernel / 2;
    tc_graph_zoo_normal(z, NAME(z, "%s.weight", p), NAME(z, "%d,%d,%d,%d", c->out, per_group, c->kernel, c->kernel), 0,
                        c->gain * sqrt(2.0 / (per_group * c->kernel * c->kernel)));
    tc_graph_zoo_normal(z, NAME(z, "%s.bias", p), NAME(z, "%d", c->out), 0, 0.02);
    tc_graph_writer_node(z->w, "Conv", p, NAME(z, "%s,%s.weight,%s.bias", input, p, p), output);
    tc_graph_writer_ints(z->w, "kernel_shape", NAME(z, "%d,%d", c->kernel, c->kernel));
    tc_graph_writer_ints(z->w, "strides", NAME(z, "%d,%d", c->stride, c->stride));
    tc_graph_writer_ints(z->w, "pads", NAME(z, "%d,%d,%d,%d", pad, pad, pad, pad));
    tc_graph_writer_ints(z->w, "dilations", "1,1");
    tc_graph_writer_int(z->w, "group", c->group);
}

static void classifier(tc_graph_zoo_ctx *z, const char *input, int features, int classes) {
    tc_graph_zoo_normal(z, "classifier.weight", NAME(z, "%d,%d", classes, features), 0, 1 / sqrt(features));
    tc_graph_zoo_normal(z, "classifier.bias", NAME(z, "%d", classes), 0, 0.02);
    tc_graph_writer_node(z->w, "GlobalAveragePool", "pool", input, "pooled");
    tc_graph_writer_node(z->w, "Flatten", "flatten", "pooled", "features");
    tc_graph_writer_int(z->w, "axis", 1);
    tc_graph_writer_node(z->w, "Gemm", "classifier", "features,classifier.weight,classifier.bias", "output");
    tc_graph_writer_int(z->w, "transB", 1);
}

static void image_in_classes_out(tc_graph_zoo_ctx *z, int pixels, int classes) {
    tc_graph_writer_input(z->w, "input", TC_F32, NAME(z, "1,3,%d,%d", pixels, pixels));
    tc_graph_writer_output(z->w, "output", TC_F32, NAME(z, "1,%d", classes));
}

static void relu(tc_graph_zoo_ctx *z, const char *input, const char *output) {
    tc_graph_writer_node(z->w, "Relu", NAME(z, "%s/Relu", output), input, output);
}

/* A classifier of 32x32 images into ten classes: pairs of 3x3 convolutions; each pair but the last halves the image. */
void tc_graph_zoo_write_cnn(tc_graph_zoo_ctx *z) {
    static const int widths[] = {64, 128, 256};
    image_in_classes_out(z, 32, 10);
    const char *at = "input";
    for (int stage = 0, in = 3; stage < 3; stage++)
        for (int i = 0; i < 2; i++) {
            const char *p = NAME(z, "conv%d.%d", stage + 1, i);
            if (stage > 0 && i == 0) {
                tc_graph_writer_node(z->w, "MaxPool", NAME(z, "pool%d", stage), at, NAME(z, "pool%d.out", stage));
                tc_graph_writer_ints(z->w, "kernel_shape", "2,2");
                tc_graph_writer_ints(z->w, "strides", "2,2");
                at = NAME(z, "pool%d.out", stage);
            }
            write_conv(z, p, &(conv){in, widths[stage], 3, 1, 1, 1}, at, NAME(z, "%s.out", p));
            relu(z, NAME(z, "%s.out", p), NAME(z, "%s.relu", p));
            at = NAME(z, "%s.relu", p);
            in = widths[stage];
        }
    classifier(z, at, 256, 10);
}

/* 1x1, 3x3 (with the stride), 1x1 to four times the width, beside a shortcut */
static void bottleneck(tc_graph_zoo_ctx *z, const char *p, int in, int width, int stride, const char *input, const char *output) {
    write_conv(z, NAME(z, "%s.conv1", p), &(conv){in, width, 1, 1, 1, 1}, input, NAME(z, "%s.1", p));
    relu(z, NAME(z, "%s.1", p), NAME(z, "%s.2", p));
    write_conv(z, NAME(z, "%s.conv2", p), &(conv){width, width, 3, stride, 1, 1}, NAME(z, "%s.2", p), NAME(z, "%s.3", p));
    relu(z, NAME(z, "%s.3", p), NAME(z, "%s.4", p));
    write_conv(z, NAME(z, "%s.conv3", p), &(conv){width, 4 * width, 1, 1, 1, 0.3}, NAME(z, "%s.4", p), NAME(z, "%s.5", p));
    const char *shortcut = input;
    if (in != 4 * width || stride != 1) {
        shortcut = NAME(z, "%s.shortcut", p);
        write_conv(z, NAME(z, "%s.downsample", p), &(conv){in, 4 * width, 1, stride, 1, 0.7}, input, shortcut);
    }
    tc_graph_writer_node(z->w, "Add", NAME(z, "%s.add", p), NAME(z, "%s.5,%s", p, shortcut), NAME(z, "%s.6", p));
    relu(z, NAME(z, "%s.6", p), output);
}

void tc_graph_zoo_write_resnet50(tc_graph_zoo_ctx *z) {
    static const int blocks[] = {3, 4, 6, 3};
    image_in_classes_out(z, 224, 1000);
    write_conv(z, "stem", &(conv){3, 64, 7, 2, 1, 1}, "input", "stem.1");
    relu(z, "stem.1", "stem.2");
    tc_graph_writer_node(z->w, "MaxPool", "stem.pool", "stem.2", "stem.3");
    tc_graph_writer_ints(z->w, "kernel_shape", "3,3");
    tc_graph_writer_ints(z->w, "strides", "2,2");
    tc_graph_writer_ints(z->w, "pads", "1,1,1,1");
    const char *at = "stem.3";
    for (int stage = 0, in = 64; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            int width = 64 << stage;
            const char *p = NAME(z, "layer%d.%d", stage + 1, i), *next = NAME(z, "%s.out", p);
            bottleneck(z, p, in, width, stage > 0 && i == 0 ? 2 : 1, at, next);
            at = next;
            in = 4 * width;
        }
    classifier(z, at, 2048, 1000);
}

static void relu6(tc_graph_zoo_ctx *z, const char *input, const char *output) {
    tc_graph_writer_node(z->w, "Clip", NAME(z, "%s/Clip", output), NAME(z, "%s,zero,six", input), output);
}

/* 1x1 up, 3x3 depthwise, 1x1 down without activation; a shortcut where the shapes agree */
static void inverted_residual(tc_graph_zoo_ctx *z, const char *p, int in, int out, int stride, int expand, const char *input,
                              const char *output) {
    int wide = in * expand;
    const char *at = input;
    if (expand != 1) {
        write_conv(z, NAME(z, "%s.expand", p), &(conv){in, wide, 1, 1, 1, 1}, at, NAME(z, "%s.1", p));
        relu6(z, NAME(z, "%s.1", p), NAME(z, "%s.2", p));
        at = NAME(z, "%s.2", p);
    }
    write_conv(z, NAME(z, "%s.depthwise", p), &(conv){wide, wide, 3, stride, wide, 1}, at, NAME(z, "%s.3", p));
    relu6(z, NAME(z, "%s.3", p), NAME(z, "%s.4", p));
    bool shortcut = stride == 1 && in == out;
    const char *branch = shortcut ? NAME(z, "%s.5", p) : output;
    write_conv(z, NAME(z, "%s.project", p), &(conv){wide, out, 1, 1, 1, shortcut ? 0.5 : 0.8}, NAME(z, "%s.4", p), branch);
    if (shortcut)
        tc_graph_writer_node(z->w, "Add", NAME(z, "%s.add", p), NAME(z, "%s,%s", input, branch), output);
}

void tc_graph_zoo_write_mobilenet_v2(tc_graph_zoo_ctx *z) {
    static const struct {
        int expand, out, repeat, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    image_in_classes_out(z, 224, 1000);
    tc_graph_zoo_scalar(z, "zero", 0);
    tc_graph_zoo_scalar(z, "six", 6);
    write_conv(z, "stem", &(conv){3, 32, 3, 2, 1, 1}, "input", "stem.1");
    relu6(z, "stem.1", "stem.2");
    const char *at = "stem.2";
    int in = 32, block = 0;
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
        for (int i = 0; i < stages[s].repeat; i++) {
            const char *p = NAME(z, "block%d", block++), *next = NAME(z, "%s.out", p);
            inverted_residual(z, p, in, stages[s].out, i == 0 ? stages[s].stride : 1, stages[s].expand, at, next);
            at = next;
            in = stages[s].out;
        }
    write_conv(z, "head", &(conv){in, 1280, 1, 1, 1, 1}, at, "head.1");
    relu6(z, "head.1", "head.2");
    classifier(z, "head.2", 1280, 1000);
}
