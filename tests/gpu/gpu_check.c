// gpu_check.c - runtime "eager" on a real GPU: is it right, does it live with little memory, how
// fast is it. Needs no test framework, so that it can be built wherever there is a GPU.
#include "commands.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *usage;
    int (*run)(int count, char **words);
} commands[] = {
    {"check",
     "check [--small] TOPOLOGY.json ...: logits beside the CPU's and a double-precision\n"
     "      reference's; batches, lanes and changed weights to the bit",
     cmd_check},
    {"squeeze",
     "squeeze IMAGES LEFT_MIB TOPOLOGY.json ...: the same fitness under a cap, and with\n"
     "      so little of the GPU's memory left",
     cmd_squeeze},
    {"serve", "serve: measures what it is told on stdin (serve.c)", cmd_serve},
    {"edges", "edges IMAGES TOPOLOGY.json ...: which kernels would run; needs no GPU", cmd_edges},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int main(int count, char **words) {
    for (int i = 0; count > 1 && i < COMMANDS; i++)
        if (strcmp(words[1], commands[i].name) == 0) return commands[i].run(count - 2, words + 2);
    puts("usage: gpu_check COMMAND ...");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %s\n", commands[i].usage);
    puts("Status 1: wrong; 77: there is no GPU.");
    return 2;
}
