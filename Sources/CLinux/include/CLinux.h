// What Swift's view of the C library leaves out on Linux: headers it does not cover, and functions that the headers
// declare only for GNU sources. Declarations only; no logic lives here.
#ifndef PURL_CLINUX_H
#define PURL_CLINUX_H

#if defined(__linux__)

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/types.h>

int accept4(int listener, struct sockaddr *restrict address, socklen_t *restrict length, int flags);
int pipe2(int ends[2], int flags);
int pthread_setname_np(pthread_t thread, const char *name);
ssize_t splice(int source, off_t *source_offset, int target, off_t *target_offset, size_t count, unsigned int flags);
int fallocate(int descriptor, int mode, off_t offset, off_t length);
int renameat2(int folder, const char *path, int new_folder, const char *new_path, unsigned int flags);

// Macros that reach Swift with another type in each C library, or not at all.
static const uint32_t CLINUX_EPOLLIN = EPOLLIN;
static const uint32_t CLINUX_EPOLLOUT = EPOLLOUT;
static const uint32_t CLINUX_EPOLLERR = EPOLLERR;
static const uint32_t CLINUX_EPOLLHUP = EPOLLHUP;
static const int CLINUX_EPOLL_CLOEXEC = EPOLL_CLOEXEC;
static const int CLINUX_EFD_CLOEXEC = EFD_CLOEXEC;
static const int CLINUX_EFD_NONBLOCK = EFD_NONBLOCK;
static const int CLINUX_SOCK_STREAM = SOCK_STREAM;
static const int CLINUX_SOCK_NONBLOCK = SOCK_NONBLOCK;
static const int CLINUX_SOCK_CLOEXEC = SOCK_CLOEXEC;
static const int CLINUX_MSG_NOSIGNAL = MSG_NOSIGNAL;
static const int CLINUX_MSG_PEEK = MSG_PEEK;
// Newer than the headers of some C libraries.
static const int CLINUX_IPPROTO_MPTCP = 262;
static const int CLINUX_TCP_IS_MPTCP = 43;
static const int CLINUX_TCP_INFO = 11;
// The first byte of what TCP_INFO returns, for a connection that is over.
static const uint8_t CLINUX_TCP_CLOSE = 7;
static const int CLINUX_SO_PROTOCOL = 38;
// SIOCOUTQ: the bytes that are not acknowledged.
static const unsigned long CLINUX_SIOCOUTQ = TIOCOUTQ;
// Hidden from sources that are not GNU; the same in every Linux C library.
static const int CLINUX_EAI_NODATA = -5;
static const int CLINUX_F_SETPIPE_SZ = 1031;
static const unsigned int CLINUX_RENAME_NOREPLACE = 1;
// The type of tmpfs, in a header of the kernel's.
static const long CLINUX_TMPFS_MAGIC = 0x01021994;
static const unsigned int CLINUX_SPLICE_F_MOVE = 1;
static const unsigned int CLINUX_SPLICE_F_NONBLOCK = 2;

#endif

#endif
