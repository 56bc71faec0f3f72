/* Makes the n-th call fail by which a process writes, syncs, renames, or talks to a server.
 *
 * Loaded before the C library (LD_PRELOAD), so that it sees the calls of every library of the process. Files
 * count below one folder only, and sockets of every kind but those of the C library itself. Nothing happens
 * before fault_arm is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { NONE, EIO_ONCE, NO_SPACE, TORN, KILL };

static char root[PATH_MAX];
static size_t root_length;
static long fails_at;
static enum kind kind;
static int is_armed;
static long calls;

/* What each call was: w write, s sync, r rename, m make a folder, c connect, n send, v receive. */
#define CALLS_MAX 65536
char fault_trace[CALLS_MAX + 1];

/* Starts to count, and to fail at a call (0: at none). */
void fault_arm(const char *folder, long at, int how) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    fails_at = at;
    kind = how;
    calls = 0;
    is_armed = 1;
}

/* Stops, and returns how many calls there were. */
long fault_disarm(void) {
    is_armed = 0;
    return calls;
}

static int is_below(const char *path) { return strncmp(path, root, root_length) == 0; }

static int file_counts(int descriptor) {
    char name[64], path[PATH_MAX];
    if (!is_armed) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int path_counts(const char *path) { return is_armed && (path[0] != '/' || is_below(path)); }

/* Counts a call; tells whether it is to fail. A disk that is full stays so. */
static int fails(char what) {
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (number <= CALLS_MAX) fault_trace[number - 1] = what;
    if (!fails_at) return 0;
    return number == fails_at || (kind == NO_SPACE && number > fails_at);
}

static int error_of(int otherwise) {
    if (kind == KILL) syscall(SYS_exit_group, 137);
    return otherwise;
}

static int error_of_file(void) { return error_of(kind == NO_SPACE ? ENOSPC : EIO); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int torn(void) { return kind == TORN || kind == KILL; }

ssize_t write(int descriptor, const void *data, size_t size) {
    if (file_counts(descriptor) && fails('w')) {
        if (torn()) REAL(write)(descriptor, data, size / 2);
        errno = error_of_file();
        return -1;
    }
    return REAL(write)(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t at) {
    if (file_counts(descriptor) && fails('w')) {
        if (torn()) REAL(pwrite)(descriptor, data, size / 2, at);
        errno = error_of_file();
        return -1;
    }
    return REAL(pwrite)(descriptor, data, size, at);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at) {
    if (file_counts(descriptor) && fails('w')) {
        if (torn()) REAL(pwrite64)(descriptor, data, size / 2, at);
        errno = error_of_file();
        return -1;
    }
    return REAL(pwrite64)(descriptor, data, size, at);
}

int fsync(int descriptor) {
    if (file_counts(descriptor) && fails('s')) {
        errno = error_of_file();
        return -1;
    }
    return REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
    if (file_counts(descriptor) && fails('s')) {
        errno = error_of_file();
        return -1;
    }
    return REAL(fdatasync)(descriptor);
}

int rename(const char *from, const char *to) {
    if (path_counts(from) && fails('r')) {
        errno = error_of_file();
        return -1;
    }
    return REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (path_counts(from) && fails('r')) {
        errno = error_of_file();
        return -1;
    }
    return REAL(renameat)(from_folder, from, to_folder, to);
}

int mkdir(const char *path, mode_t mode) {
    if (path_counts(path) && fails('m')) {
        errno = error_of_file();
        return -1;
    }
    return REAL(mkdir)(path, mode);
}

/* What a server does with a request that has been sent, nobody knows when the answer does not come. */
int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    if (is_armed && fails('c')) {
        errno = error_of(ECONNREFUSED);
        return -1;
    }
    return REAL(connect)(descriptor, address, length);
}

ssize_t send(int descriptor, const void *data, size_t size, int flags) {
    if (is_armed && fails('n')) {
        errno = error_of(ECONNRESET);
        shutdown(descriptor, SHUT_RDWR);
        return -1;
    }
    return REAL(send)(descriptor, data, size, flags);
}

ssize_t recv(int descriptor, void *data, size_t size, int flags) {
    if (is_armed && fails('v')) {
        errno = error_of(ECONNRESET);
        shutdown(descriptor, SHUT_RDWR);
        return -1;
    }
    return REAL(recv)(descriptor, data, size, flags);
}
