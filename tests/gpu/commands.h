// commands.h - what gpu_check does; each returns the exit status.
#pragma once

enum { EXIT_NO_GPU = 77, LARGEST_KERNEL = 64 };

int cmd_check(int count, char **words);
int cmd_captures(int count, char **words);
int cmd_squeeze(int count, char **words);
int cmd_serve(int count, char **words);
int cmd_edges(int count, char **words);
