#define _GNU_SOURCE
#include "TestProcess.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

// Keeps the temporary files of the tests in memory, where the system has a place with enough room: waiting for a disk took a
// sixth of the time of all tests. What a loss of power leaves is tested by simulation.
__attribute__((constructor)) static void filesInMemory(void) {
    const char *memory = "/dev/shm";
    const unsigned long long enough = 2ULL << 30;
    struct statvfs room;
    if (access(memory, W_OK | X_OK) != 0 || statvfs(memory, &room) != 0) return;
    if ((unsigned long long)room.f_bavail * room.f_frsize >= enough) setenv("TMPDIR", memory, 0);
}

// The descriptors of other tests are closed on exec, but not all of them by the call that opens them: a program that is
// started in between would keep a connection or a pipe open for as long as it runs.
void testProcessClosesOthers(posix_spawn_file_actions_t *actions) {
#ifdef __GLIBC__
    posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#else
    (void)actions;
#endif
}
