/* What the static program (scripts/package/release.sh) has in place of a dynamic linker and of the name service
 * switch. It is linked into no other program; the objects of both are the same ones.
 *
 * A static glibc can load libraries and modules only of its own version: of another one they end the process.
 * So nothing is loaded. The libraries that serve, alerts and packed files want on demand are linked in, users are
 * those of /etc/passwd and what `getent passwd UID` answers within a second (LDAP, sssd), hosts those of /etc/hosts and
 * of name servers. The linker hands the calls of NAME to __wrap_NAME.
 */
#include "nmtwatch/alert/http_post.h"
#include "nmtwatch/serve/web.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <netdb.h>
#include <nss.h>
#include <pwd.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- libraries ---------------------------------------------------------------------------------- */

/* Of saved.c, which knows their functions without their headers. */
void lzma_stream_buffer_decode(void);
void ZSTD_decompress(void);
void ZSTD_isError(void);
void BZ2_bzBuffToBuffDecompress(void);

static const struct function {
    const char *library, *name;
    void (*at)(void);
} functions[] = {
#define MHD_ROW(of)  {"libmicrohttpd.so.12", "MHD_" #of, (void (*)(void))MHD_##of},
#define CURL_ROW(of) {"libcurl.so.4", "curl_" #of, (void (*)(void))curl_##of},
    MHD_FUNCTIONS(MHD_ROW) CURL_FUNCTIONS(CURL_ROW){"liblzma.so.5", "lzma_stream_buffer_decode",
                                                    lzma_stream_buffer_decode},
    {"libzstd.so.1", "ZSTD_decompress", ZSTD_decompress},
    {"libzstd.so.1", "ZSTD_isError", ZSTD_isError},
    {"libbz2.so.1.0", "BZ2_bzBuffToBuffDecompress", BZ2_bzBuffToBuffDecompress},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* A library is the address of its first row. */
void *__wrap_dlopen(const char *name, int mode);
void *__wrap_dlopen(const char *name, int mode)
{
    (void)mode;
    for (size_t i = 0; name != NULL && i < FUNCTIONS; i++)
        if (strcmp(functions[i].library, name) == 0)
            return (void *)(uintptr_t)&functions[i];
    return NULL;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
    const struct function *first = library;
    for (size_t i = 0; first != NULL && i < FUNCTIONS; i++)
        if (strcmp(functions[i].library, first->library) == 0 &&
            strcmp(functions[i].name, name) == 0)
            return (void *)(uintptr_t)functions[i].at;
    return NULL;
}

char *__wrap_dlerror(void);
char *__wrap_dlerror(void)
{
    static char text[] = "the static program loads no libraries";
    return text;
}

/* OpenSSL's: it keeps itself loaded by them. */
int __wrap_dlclose(void *library);
int __wrap_dlclose(void *library)
{
    (void)library;
    return 0;
}

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info)
{
    (void)address, (void)info;
    return 0;
}

/* What libcurl and GnuTLS ask of libraries that are not linked in, of LDAP, SSH, RTMP, Kerberos and smart cards:
 * none is used (http_post allows http and https, serve takes its key from a file). The linker puts these two in the
 * place of all such functions. A failure to each of them. */
long static_program_left_out(void);
long static_program_left_out(void)
{
    return -1;
}

/* Those that are called at start. */
long static_program_nothing_to_start(void);
long static_program_nothing_to_start(void)
{
    return 0;
}

/* --- users and names ---------------------------------------------------------------------------- */

/* getaddrinfo, which libcurl calls, asks only what is built into glibc, whatever /etc/nsswitch.conf says. */
__attribute__((constructor)) static void without_modules(void)
{
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("services", "files");
    __nss_configure_lookup("protocols", "files");
    __nss_configure_lookup("networks", "files");
    __nss_configure_lookup("group", "files");
    unsetenv("GCONV_PATH"); /* charsets are modules as well */
}

static struct passwd *find_user(const char *name, uid_t uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd *user = NULL;
    while (file != NULL && (user = fgetpwent(file)) != NULL)
        if (name != NULL ? strcmp(user->pw_name, name) == 0 : user->pw_uid == uid)
            break;
    if (file != NULL)
        fclose(file);
    return user;
}

struct passwd *__wrap_getpwnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name)
{
    return find_user(name, 0);
}

/* The name service switch of the system, by a program of the system, without a shell. */
static struct passwd *ask_getent(uid_t uid)
{
    static char name[64];
    static struct passwd user = {.pw_name = name};
    char number[16];
    int ends[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    snprintf(number, sizeof number, "%u", (unsigned)uid);
    char *words[] = {(char[]){"timeout"}, (char[]){"1"}, (char[]){"getent"},
                     (char[]){"passwd"},  number,        NULL};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawnp(&pid, words[0], &actions, NULL, words, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *file = fdopen(ends[0], "re");
    const struct passwd *found = file != NULL ? fgetpwent(file) : NULL;
    bool good = found != NULL && found->pw_uid == uid;
    if (good)
        snprintf(name, sizeof name, "%s", found->pw_name);
    if (file != NULL)
        fclose(file);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    user.pw_uid = uid;
    return good ? &user : NULL;
}

struct passwd *__wrap_getpwuid(uid_t uid);
struct passwd *__wrap_getpwuid(uid_t uid)
{
    static uid_t asked = (uid_t)-1; /* JVMs of one user come one after the other */
    static struct passwd *answer;
    struct passwd *user = find_user(NULL, uid);
    if (user == NULL && asked != uid)
        answer = ask_getent(asked = uid);
    return user != NULL ? user : answer;
}

/* These are not requested: a user's ~/.netrc (libcurl), and names in OpenSSL's own connections. */
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *texts, size_t size,
                      struct passwd **found);
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *texts, size_t size,
                      struct passwd **found)
{
    (void)uid, (void)user, (void)texts, (void)size;
    *found = NULL;
    return 0;
}

struct hostent *__wrap_gethostbyname(const char *name);
struct hostent *__wrap_gethostbyname(const char *name)
{
    (void)name;
    return NULL;
}

/* Locales of the system are files of its glibc's version, and their
 * charsets modules. top takes C.UTF-8 then, which is built in, for a request of UTF-8. */
char *__real_setlocale(int category, const char *locale);
char *__wrap_setlocale(int category, const char *locale);
char *__wrap_setlocale(int category, const char *locale)
{
    return locale != NULL && locale[0] == '\0' ? NULL : __real_setlocale(category, locale);
}
