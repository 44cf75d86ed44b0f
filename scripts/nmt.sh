# shellcheck shell=bash
# nmt: what Native Memory Tracking says of a JVM, for the benchmarks of jmethodIDs. Sourced, after
# tests/tap.sh.

jdk_home() { # VERSION
    JDK=$1 scripts/workloads.sh jdk 2>/dev/null
}

jcmd() { # JDK PID COMMAND...
    "$(jdk_home "$1")/bin/jcmd" "${@:2}" 2>/dev/null
}

# Bytes malloc'ed for Class and Internal together. Class space is left out: it is no jmethodID.
nmt_bytes() { # JDK PID
    jcmd "$1" "$2" VM.native_memory summary scale=b | awk '
        /^-/ { wanted = $2 == "Class" || $2 == "Internal" }
        wanted && match($0, /malloc=[0-9]+/) { sum += substr($0, RSTART + 7, RLENGTH - 7) }
        END { print sum + 0 }'
}
