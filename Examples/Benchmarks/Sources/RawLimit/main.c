// What the system can do at best: a GET into a file with splice, a PUT from a file with sendfile, a stream of events to
// standard output. No HTTP beyond what it takes to get at the bytes; IPv4 and, but for events, a Content-Length only.
//
//     RawLimit download|upload|events HOST PORT PATH FILE

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void check(int works, const char *what) {
    if (works) return;
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static int dial(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    check(inet_pton(AF_INET, host, &address.sin_addr) == 1, "address");
    int s = socket(AF_INET, SOCK_STREAM, 0);
    check(s >= 0 && connect(s, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return s;
}

// Reads a head; returns where the content that came with it begins, its length and the content's length.
static char *read_head(int s, char *buffer, size_t size, size_t *extra, long long *length) {
    size_t used = 0;
    for (;;) {
        ssize_t n = read(s, buffer + used, size - 1 - used);
        check(n > 0, "read");
        used += n;
        buffer[used] = 0;
        char *end = strstr(buffer, "\r\n\r\n");
        if (!end) continue;
        char *field = strcasestr(buffer, "\r\nContent-Length:");
        *length = field && field < end ? atoll(field + 17) : 0;
        *extra = used - (end + 4 - buffer);
        return end + 4;
    }
}

static long long download(int s, const char *path, const char *host, const char *file) {
    char buffer[65536];
    dprintf(s, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    long long length;
    size_t extra;
    char *content = read_head(s, buffer, sizeof buffer, &extra, &length);
    int f = open(file, O_CREAT | O_TRUNC | O_RDWR, 0600);
    check(f >= 0 && write(f, content, extra) == (ssize_t)extra, "file");
    int p[2];
    check(pipe(p) == 0, "pipe");
    fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
    for (long long left = length - extra; left > 0;) {
        ssize_t n = splice(s, NULL, p[1], NULL, left < 1 << 20 ? left : 1 << 20, SPLICE_F_MOVE | SPLICE_F_MORE);
        check(n > 0, "splice");
        left -= n;
        while (n > 0) {
            ssize_t m = splice(p[0], NULL, f, NULL, n, SPLICE_F_MOVE);
            check(m > 0, "splice");
            n -= m;
        }
    }
    return length;
}

static long long upload(int s, const char *path, const char *host, const char *file) {
    char buffer[65536];
    int f = open(file, O_RDONLY);
    struct stat status;
    check(f >= 0 && fstat(f, &status) == 0, "file");
    dprintf(s, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %lld\r\n\r\n", path, host, (long long)status.st_size);
    for (off_t offset = 0; offset < status.st_size;)
        check(sendfile(s, f, &offset, status.st_size - offset) > 0, "sendfile");
    long long length;
    size_t extra;
    read_head(s, buffer, sizeof buffer, &extra, &length);
    return status.st_size;
}

// Without JSON at the end, which would be taken for an event.
static int events(int s, const char *path, const char *host) {
    char buffer[65536];
    dprintf(s, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    long long length;
    size_t extra;
    char *content = read_head(s, buffer, sizeof buffer, &extra, &length);
    check(write(STDOUT_FILENO, content, extra) == (ssize_t)extra, "write");
    for (ssize_t n; (n = read(s, buffer, sizeof buffer)) > 0;) check(write(STDOUT_FILENO, buffer, n) == n, "write");
    return 0;
}

int main(int count, char **words) {
    if (count != 6) return 2;
    double start = now();
    int s = dial(words[2], atoi(words[3]));
    if (strcmp(words[1], "events") == 0) return events(s, words[4], words[2]);
    int gets = strcmp(words[1], "download") == 0;
    long long bytes = (gets ? download : upload)(s, words[4], words[2], words[5]);
    printf("{\"seconds\":%f,\"requests\":1,\"bytes\":%lld}\n", now() - start, bytes);
    return 0;
}
