/*
 * old_glibc: included before everything else into each file of the agent (Makefile), so that what is compiled here
 * also loads into a JVM on an older distribution: on glibc 2.17 and later, that is RHEL 7, Debian 8, Ubuntu 14.04.
 *
 * A symbol is bound to the version that the linker finds: of functions that glibc 2.34 has moved from libpthread and
 * libdl into libc a new one. Their old versions are the same functions; a JVM has both libraries loaded where they are
 * libraries. Functions of a later glibc are made as system calls. tests/build/hardening_test.sh looks.
 */
#pragma once

/* glibc 2.38 and later declare strtol and sscanf, where they may read 0b1, under names of their own. */
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#define __GLIBC_USE_C23_STRTOL 0

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __GLIBC__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
/* The versions of an architecture are the Makefile's. */
#define OLD(name)       __asm__(".symver " #name "," #name "@" GLIBC_OLD)
#define OLD_LATER(name) __asm__(".symver " #name "," #name "@" GLIBC_OLD_LATER)
OLD(dladdr);
OLD(dlclose);
OLD(dlopen);
OLD(dlsym);
OLD(pthread_create);
OLD(pthread_detach);
OLD(pthread_getspecific);
OLD(pthread_join);
OLD(pthread_key_create);
OLD(pthread_key_delete);
OLD(pthread_mutex_trylock);
OLD(pthread_once);
OLD(pthread_setspecific);
OLD(pthread_sigmask);
OLD_LATER(dladdr1);
OLD_LATER(pthread_condattr_setclock);
#undef OLD
#undef OLD_LATER

#define fstat(fd, status) fstatat((fd), "", (status), AT_EMPTY_PATH) /* the call that a JVM makes */
#define fstatat(folder, path, status, flags)                                                       \
    ((int)syscall(SYS_newfstatat, (folder), (path), (status), (flags)))
#define lstat(path, status) fstatat(AT_FDCWD, (path), (status), AT_SYMLINK_NOFOLLOW)
#define gettid()            ((pid_t)syscall(SYS_gettid))
#endif
