/* Preloaded into a process, this library takes from the file system below one folder what LACKING names.
 *
 *   LACKING_BELOW  the folder, absolute
 *   LACKING        a list of: links, renames, symlinks, locks, foldersync, readlocks, modes
 *
 * "renames" are those that replace no file, and "modes" what chmod changes. "readlocks" is the rule of NFS and SMB that an exclusive lock wants a file which is open for writing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int lacks(const char *what, const char *path) {
    const char *below = getenv("LACKING_BELOW"), *missing = getenv("LACKING");
    if (!below || !missing || !path || strncmp(path, below, strlen(below)))
        return 0;
    const char *found = strstr(missing, what);
    if (!found || (found != missing && found[-1] != ','))
        return 0;
    return found[strlen(what)] == ',' || found[strlen(what)] == 0;
}

static int file_lacks(const char *what, int file) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return lacks(what, path);
}

static int fail(int number) {
    errno = number;
    return -1;
}

int link(const char *from, const char *to) {
    return lacks("links", to) ? fail(EPERM) : NEXT(link)(from, to);
}

int linkat(int source, const char *from, int target, const char *to, int flags) {
    return lacks("links", to) ? fail(EPERM) : NEXT(linkat)(source, from, target, to, flags);
}

int symlink(const char *from, const char *to) {
    return lacks("symlinks", to) ? fail(EOPNOTSUPP) : NEXT(symlink)(from, to);
}

int symlinkat(const char *from, int target, const char *to) {
    return lacks("symlinks", to) ? fail(EOPNOTSUPP) : NEXT(symlinkat)(from, target, to);
}

int renameat2(int source, const char *from, int target, const char *to, unsigned flags) {
    return lacks("renames", to) ? fail(EINVAL) : NEXT(renameat2)(source, from, target, to, flags);
}

int chmod(const char *path, mode_t mode) {
    return lacks("modes", path) ? fail(EPERM) : NEXT(chmod)(path, mode);
}

int flock(int file, int how) {
    if (file_lacks("locks", file))
        return fail(ENOSYS);
    if ((how & LOCK_EX) && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY && file_lacks("readlocks", file))
        return fail(EBADF);
    return NEXT(flock)(file, how);
}

int fsync(int file) {
    struct stat status;
    if (!fstat(file, &status) && S_ISDIR(status.st_mode) && file_lacks("foldersync", file))
        return fail(EINVAL);
    return NEXT(fsync)(file);
}
