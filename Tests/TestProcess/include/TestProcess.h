#include <spawn.h>

// Lets a program that is started inherit the three standard descriptors alone.
void testProcessClosesOthers(posix_spawn_file_actions_t *actions);

// The rest of what this target does it does before the tests begin.
