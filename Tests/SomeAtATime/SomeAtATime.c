#include <stdlib.h>

// Swift Testing starts all tests at once, and has no other way to say how many it should. Each of them then gets its next
// turn when all others have had theirs, so that on a slow or busy machine transfers run past their time-outs.
__attribute__((constructor)) static void someAtATime(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "16", 0);
}
