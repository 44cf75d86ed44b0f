#!/bin/bash
# Every byte the agent allocates goes through agent/mem: no other object of libnmtagent.so may reach a
# function that hands out memory. What libc takes for itself when it is called (a FILE, the stack of a
# thread) is not seen here; tests/agent/allocators_allowed.txt names the exceptions and why.
. "$(dirname "$0")/../tap.sh"

objects=${NMTWATCH:-build/nmtwatch}
objects=${objects%/*}/obj-agent
need_built "$objects/agent/mem/mem.o"

forbidden='malloc|calloc|realloc|reallocarray|free|cfree|strdup|strndup|asprintf|vasprintf|getline'
forbidden+='|getdelim|open_memstream|mmap|mmap64|munmap|mremap|brk|sbrk|posix_memalign|aligned_alloc'
forbidden+='|memalign|valloc|pvalloc|fopen|fopen64|fdopen|fmemopen|fopencookie|opendir|fdopendir|scandir|scandir64'
forbidden+='|realpath|canonicalize_file_name|popen|getaddrinfo|getifaddrs|backtrace|backtrace_symbols'
forbidden+='|setenv|putenv|tsearch|hcreate|regcomp|glob|pthread_create|dlopen|dlmopen|thrd_create'

reached() { # OBJECT: "agent/dict/dictionary.o malloc" lines
    nm -u "$1" | awk '{ print $NF }' | sed 's/^__//; s/_chk$//' | grep -xE "$forbidden" |
        sed "s|^|${1#"$objects"/} |"
}

allowed() { # "OBJECT SYMBOL"
    grep -v '^#' tests/agent/allocators_allowed.txt | grep -qE "^${1/ /:? +}( |$)"
}

contains "the check sees what an object reaches" "$(reached "$objects/agent/mem/mem.o")" "mem.o malloc"
wrong=
while read -r object symbol; do
    allowed "$object $symbol" || wrong+="$object reaches $symbol"$'\n'
done < <(find "$objects" -name '*.o' -not -path '*/agent/mem/*' | while read -r object; do
    source=${object#"$objects"/}
    [ ! -e "${source%.o}.c" ] || reached "$object" # an older tree's object may still be there
done)
is "nobody but agent/mem allocates" "$wrong" ""
is "a handler's arena reaches nothing" "$(nm -u "$objects/agent/mem/arena_put.o" | grep -v _GLOBAL_)" ""
done_testing
