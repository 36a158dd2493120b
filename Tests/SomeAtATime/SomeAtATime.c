#include <stdlib.h>

// Limits how many tests run at a time: Swift Testing starts all of them at once and has no other option for it. With all
// at once, each gets its next turn only after all the others have had theirs, so that on a slow or busy machine transfers
// run past their time-outs.
__attribute__((constructor)) static void someAtATime(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "16", 0);
}
