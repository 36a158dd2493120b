// A WebSocket server (RFC 6455) that sends back every frame, with a thread for each connection. It takes no extensions,
// trusts its clients, and costs little beside them. Prints its port on 127.0.0.1.
//
//     EchoServer

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t rotated(uint32_t x, int n) { return x << n | x >> (32 - n); }

// SHA-1 of fewer than 120 bytes.
static void sha1(const char *text, size_t length, unsigned char digest[20]) {
    unsigned char blocks[128] = {0};
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    size_t size = length < 56 ? 64 : 128;
    memcpy(blocks, text, length);
    blocks[length] = 0x80;
    for (int i = 0; i < 4; i++) blocks[size - 1 - i] = length * 8 >> 8 * i;
    for (unsigned char *block = blocks; block < blocks + size; block += 64) {
        uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
        for (int i = 0; i < 16; i++) memcpy(&w[i], block + 4 * i, 4), w[i] = ntohl(w[i]);
        for (int i = 16; i < 80; i++) w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (int i = 0; i < 80; i++) {
            uint32_t f = i < 20 ? ((b & c) | (~b & d)) + 0x5A827999
                : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1
                : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC
                         : (b ^ c ^ d) + 0xCA62C1D6;
            uint32_t next = rotated(a, 5) + f + e + w[i];
            e = d, d = c, c = rotated(b, 30), b = a, a = next;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
    }
    for (int i = 0; i < 20; i++) digest[i] = h[i / 4] >> (24 - 8 * (i % 4));
}

static void base64(const unsigned char bytes[20], char text[29]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 28; i++) {
        uint32_t three = bytes[i / 4 * 3] << 16 | bytes[i / 4 * 3 + 1] << 8 | (i < 24 ? bytes[i / 4 * 3 + 2] : 0);
        text[i] = digits[three >> (18 - 6 * (i % 4)) & 63];
    }
    text[27] = '=';
    text[28] = 0;
}

static int send_all(int s, const unsigned char *bytes, size_t count) {
    for (ssize_t n; count > 0; bytes += n, count -= n)
        if ((n = send(s, bytes, count, MSG_NOSIGNAL)) <= 0) return 0;
    return 1;
}

static int shake_hands(int s, char *buffer, size_t size) {
    size_t used = 0;
    char *key, *end;
    do {
        ssize_t n = recv(s, buffer + used, size - 1 - used, 0);
        if (n <= 0) return 0;
        used += n;
        buffer[used] = 0;
    } while (!(end = strstr(buffer, "\r\n\r\n")));
    key = strcasestr(buffer, "\r\nSec-WebSocket-Key:");
    if (!key || key > end) return 0;
    char text[128], accept[29], answer[256];
    unsigned char digest[20];
    for (key += 20; *key == ' '; key++) {}
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1(text, strlen(text), digest);
    base64(digest, accept);
    int length = snprintf(answer, sizeof answer, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept);
    return send_all(s, (unsigned char *)answer, length);
}

// The length of a masked frame's head, 0 when there are too few bytes to see it.
static size_t head_length(const unsigned char *bytes, size_t count) {
    if (count < 2) return 0;
    size_t length = 6 + ((bytes[1] & 127) == 126 ? 2 : (bytes[1] & 127) == 127 ? 8 : 0);
    return count < length ? 0 : length;
}

static void unmask(unsigned char *bytes, size_t count, const unsigned char key[4]) {
    for (size_t i = 0; i < count; i++) bytes[i] ^= key[i & 3];
}

// Sends everything back as it comes: heads without their mask, content unmasked, in place.
static void *serve(void *connection) {
    int s = (int)(intptr_t)connection;
    size_t size = 1 << 18, used = 0;
    unsigned char *buffer = malloc(size + 16), key[4];
    uint64_t left = 0;
    int is_over = !shake_hands(s, (char *)buffer, size);
    while (!is_over) {
        ssize_t n = recv(s, buffer + used, size - used, 0);
        if (n <= 0) break;
        used += n;
        size_t in = 0, out = 0;
        while (in < used) {
            if (left == 0) {
                size_t head = head_length(buffer + in, used - in);
                if (head == 0) break;
                unsigned char *frame = buffer + in;
                left = frame[1] & 127;
                if (head > 6)
                    for (left = 0, n = 2; n < (ssize_t)head - 4; n++) left = left << 8 | frame[n];
                memcpy(key, frame + head - 4, 4);
                int kind = frame[0] & 15;
                is_over |= kind == 8;
                frame[0] = kind == 9 ? 0x8A : frame[0];
                frame[1] &= 127;
                memmove(buffer + out, frame, head - 4);
                in += head, out += head - 4;
            }
            size_t count = left < used - in ? left : used - in;
            unmask(buffer + in, count, key);
            memmove(buffer + out, buffer + in, count);
            in += count, out += count, left -= count;
            if (left > 0) {
                unsigned char turned[4];
                for (int i = 0; i < 4; i++) turned[i] = key[(count + i) & 3];
                memcpy(key, turned, 4);
            }
        }
        if (!send_all(s, buffer, out)) break;
        memmove(buffer, buffer + in, used - in);
        used -= in;
    }
    free(buffer);
    close(s);
    return NULL;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 16)) return perror("listen"), 1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (int s; (s = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)s);
        pthread_detach(thread);
    }
    return 0;
}
