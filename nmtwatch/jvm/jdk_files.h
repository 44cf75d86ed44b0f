/*
 * jdk_files: what the files of a process say about its Java: which VM it is, which release.
 *
 * For JVMs that do not say so themselves (no hsperfdata) and for processes that are no HotSpot.
 * Setup context: reads /proc/PID/maps and ELF headers, a millisecond for a large process.
 */
#ifndef NMTWATCH_JVM_JDK_FILES_H
#define NMTWATCH_JVM_JDK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

enum mapped_vm { VM_UNREADABLE, VM_NONE, VM_HOTSPOT, VM_OPENJ9 };

/* Which JVM library the process maps; path (may be empty) as the process names it. VM_UNREADABLE
 * leaves errno. */
enum mapped_vm jdk_files_mapped_vm(pid_t pid, char *path, size_t size);

/* Whether it has a file of this inode mapped; true when that cannot be read. */
bool jdk_files_maps_inode(pid_t pid, ino_t inode);

/* EM_... of its libjvm.so (path as the target names it; 0: it cannot be read, or has been replaced) and of the program
 * that the process runs: another one where that is an emulator. */
uint16_t jdk_files_machine(const struct target *target, const char *libjvm_path);
uint16_t jdk_files_exe_machine(pid_t pid);

/* A GraalVM native image: an ELF executable with a section for its image heap. */
bool jdk_files_is_native_image(pid_t pid);

/* JAVA_VERSION of the `release` file above libjvm.so ("17.0.15"); false when there is none, or none
 * that the target's user may read. libjvm_path as the target names it. */
bool jdk_files_release(const struct target *target, const char *libjvm_path, char *version,
                       size_t size);

#endif
