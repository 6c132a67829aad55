// gpu_check.c - the runtimes on a real GPU: are they right, do they live with little memory, how
// fast are they. Needs no test framework, so that it can be built wherever there is a GPU.
#include "commands.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *usage;
    int (*run)(int count, char **words);
} commands[] = {
    {"check",
     "check [--small] TOPOLOGY.json ...: logits of each runtime beside the CPU's and a\n"
     "      double-precision reference's; eager's, those in other batches, on lanes, with weights\n"
     "      changed, and of genomes by themselves to the bit",
     cmd_check},
    {"captures",
     "captures COUNT TOPOLOGY.json ...: so many runners of graph, one after the other, leave\n"
     "      no memory behind",
     cmd_captures},
    {"squeeze",
     "squeeze IMAGES LEFT_MIB TOPOLOGY.json ...: each runtime's fitness is the same under a\n"
     "      cap, and with so little of the GPU's memory left; fused gets a quarter",
     cmd_squeeze},
    {"serve", "serve RUNTIME: measures what it is told on stdin (serve.c)", cmd_serve},
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
