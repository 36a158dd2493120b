#include <stdlib.h>
#include <sys/resource.h>

// Limits how many tests run at a time: Swift Testing starts all of them at once and has no other option for it. With all
// at once, each gets its next turn only after all the others have had theirs, so that on a slow or busy machine transfers
// run past their time-outs.
__attribute__((constructor)) static void someAtATime(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "16", 0);
}

// Raises the number of open descriptors as far as the system lets a process do it. A login shell's 1,024 are too few for a
// thousand connections with both ends in this process, and libdispatch traps where it cannot open a file.
__attribute__((constructor)) static void manyDescriptors(void) {
    const rlim_t enough = 16384;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough) return;
    limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
    setrlimit(RLIMIT_NOFILE, &limit);
}
