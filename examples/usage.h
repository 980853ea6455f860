/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - --help, and what was typed wrongly, for all examples. */
#ifndef USAGE_H
#define USAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program after --help, and after an option that does not exist or more than `most`
 * arguments. */
static inline void check_arguments(int argc, char **argv, int most, const char *usage)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        printf("usage: %s\n", usage);
        exit(0);
    }
    if (argc - 1 > most || (argc > 1 && argv[1][0] == '-')) {
        fprintf(stderr, "%s: %s\nusage: %s\n", argv[0],
                argc - 1 > most ? "too many arguments" : "no such option", usage);
        exit(2);
    }
}

#define USAGE_SERVERS                                                                            \
    " [SERVERS]\n\n"                                                                             \
    "SERVERS is \"host:port,...\" of pawld or ZooKeeper, or \"local:DIR\" without any server.\n" \
    "Without it the example brings its own."

#endif
