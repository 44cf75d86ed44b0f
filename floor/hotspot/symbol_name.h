/*
 * symbol_name: a linker symbol as people call the function: "_ZN10JavaThread3runEv" is
 * "JavaThread::run".
 *
 * Plain and nested C++ names, constructors and destructors, std; template arguments and parameters
 * are left out. Names that are not understood (operators, local classes) stay unchanged: never
 * guessed. Pure, allocates nothing; any context.
 */
#pragma once

#include <stddef.h>

/* Always ends with a NUL; a name that does not fit is cut. */
void symbol_name(const char *symbol, char *out, size_t size);
