// main.c - hands the words of the command line to the command table.
#include "command.h"

int main(int argc, char **argv) {
    return command_main(argc, argv);
}
