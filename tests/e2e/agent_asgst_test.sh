#!/bin/bash
# <nmtwatch/asgst.h>: the walker as other profilers use it. A small profiler (tests/agent/asgst_profiler.c)
# and the examples are built against what `make install` installs, and sample JVMs in which no recording
# runs, then one of ours as well, then two of theirs.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh

# --- what is installed ----------------------------------------------------------------------------

root=$SCRATCH/root/usr
build=$(realpath --relative-to=. "$(dirname "$AGENT")")
check "make install" make -s BUILD="$build" DESTDIR="$SCRATCH/root" PREFIX=/usr install
is "nothing is exported but the interface" "$(nm -D --defined-only "$root/lib/nmtwatch/libnmtagent.so" |
    awk '$3 !~ /^(ASGST_[A-Za-z]+|AsyncGetStackTrace|Agent_On(Load|Attach)|nmtagent_(in_charge|context_[a-z_]+)|Java_nmtagent_Context_[a-zA-Z0]+)$/ { print $3 }')" ""
is "what the header declares is exported" "$(
    grep -oE '\b(ASGST_[A-Z][A-Za-z]+|AsyncGetStackTrace)\(' "$root/include/nmtwatch/asgst.h" | tr -d '(' | sort -u)" \
    "$(nm -D --defined-only "$root/lib/nmtwatch/libnmtagent.so" | awk '{ print $3 }' | grep -E '^(ASGST_|AsyncGet)' | sort)"
home=$(agent_jdk "$(agent_jdks | head -n 1)")
includes=(-I "$root/include" -I "$home/include" -I "$home/include/linux")
compile() { # SOURCE OUTPUT
    "${CC:-gcc}" -std=gnu17 -O2 -Wall -Wextra -pedantic -Werror -shared -fPIC "${includes[@]}" -o "$2" "$1" \
        -L"$root/lib/nmtwatch" -lnmtagent -Wl,-rpath,"$root/lib/nmtwatch" -pthread
}
check "a profiler builds against the installed header" compile tests/agent/asgst_profiler.c "$SCRATCH/profiler.so"
cp "$SCRATCH/profiler.so" "$SCRATCH/second.so"
for example in "$root"/share/doc/nmtwatch/examples/asgst_*.c; do
    check "and so does the example $(basename "$example")" compile "$example" "$SCRATCH/$(basename "$example" .c).so"
done
printf '#include <nmtwatch/asgst.h>\nint main() { return ASGST_FRAME_CPP - 5; }\n' >"$SCRATCH/plus.cpp"
if command -v "${CXX:-g++}" >/dev/null; then
    check "C++ reads the header, of 1998 too" "${CXX:-g++}" -std=c++98 "${includes[@]}" -Wall -Wextra -pedantic -Werror -fsyntax-only "$SCRATCH/plus.cpp"
fi
AGENT=$root/lib/nmtwatch/libnmtagent.so # the same file, so that one copy is loaded

# --- what it finds --------------------------------------------------------------------------------

sees() { # NAME: what the profiler of the last JVM wrote
    sed -n "s/^$1 //p" "$SCRATCH/seen"
}
holds() { # NAME CONDITION
    local found
    found=$(sees "$1")
    check "$JVM_NAME: $1 ($found) $2" test "${found:-0}" "${@:2}"
}
seen_of() { # FILE CONDITION...: what holds of every profiler
    mv "$1" "$SCRATCH/seen" || return
    holds samples -ge 100
    holds unnamed -eq 0
    holds iterator_differs -eq 0
    holds idnum_changed -eq 0
    is "$JVM_NAME: handlers are taken out" "$(sees deregistered)" 1
}

known_methods() { # JDK
    jvm_start "$1" "known methods" "-agentpath:$SCRATCH/profiler.so=40,$SCRATCH/first,compare" \
        -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,AsgstLoad::leaf AsgstLoad 1500
    jvm_wait result || return
    jvm_end 0
    seen_of "$SCRATCH/first"
    local name same differs
    for name in java inlined native cpp level0 level4 here; do
        holds $name -gt 0
    done
    holds failed -le 5
    check "$JVM_NAME: what uses the CPU runs" [ "$(sees running)" -gt $(($(sees samples) * 8 / 10)) ]
    is "$JVM_NAME: states are looked at" "$(sees runnable_refused)" "$(sees samples)"
    same=$(sees same) differs=$(sees differs)
    check "$JVM_NAME: stacks are those of AsyncGetCallTrace ($same, $differs differ)" \
        [ "$same" -gt $((9 * differs + 50)) ]
    is "$JVM_NAME: lines are of the source" "$(awk -v low="$(sees first_line)" -v high="$(sees last_line)" '
        /first line of spin/ { first = NR }
        /last line of spin/ { last = NR }
        END { print (low >= first && high <= last) }' tests/workloads/agent/AsgstLoad.java)" 1
    holds lines -ge 4
    is "$JVM_NAME: generic signatures" "$(sees generic_method) $(sees generic_class)" \
        '(Ljava/util/List<TT;>;I)J <T::Ljava/lang/Comparable<TT;>;>Ljava/lang/Object;'
    is "$JVM_NAME: a thread that is no Java thread" "$(sees kind_of_pthread) $(sees refused_pthread)" "2 -10"
    holds frames_of_pthread -ge 1
}

# With a recording of ours, and two of theirs, of which each has two handlers.
unloaded() { # JDK COLLECTOR
    jvm_start "$1" "unloaded, $2" "-agentpath:$AGENT=start,cpu=1ms,file=$SCRATCH/ours.jfr" \
        "-agentpath:$SCRATCH/profiler.so=40,$SCRATCH/first" "-agentpath:$SCRATCH/second.so=41,$SCRATCH/other" \
        "-XX:+Use${2}GC" -XX:MaxMetaspaceSize=24m ClassChurn 6000
    jvm_wait result || return
    contains "$JVM_NAME: one copy of the library serves all" \
        "$(grep -c 'libnmtagent.so$' <(awk '{ print $6 }' "/proc/$JVM_PID/maps" | sort -u))" 1
    profile stop --json >"$SCRATCH/stop" 2>&1
    check "$JVM_NAME: our recording has samples" jq -e '.status.stored > 50' "$SCRATCH/stop"
    jvm_end 0
    local file
    for file in first other; do
        seen_of "$SCRATCH/$file"
        holds unloaded -ge 2000
        holds unloaded_methods -ge 8000
        holds stale -eq 0
        is "$JVM_NAME: both handlers heard" "$(sees unloaded_twice)" "$(sees unloaded)"
    done
}

redefined() { # JDK STYLE
    jvm_start "$1" "$2" "-agentpath:$SCRATCH/profiler.so=40,$SCRATCH/first" \
        -javaagent:"$AGENT_CLASSES/redefine.jar" Redefinitions "$2" 5 10 20
    jvm_wait result || return
    jvm_end 0
    seen_of "$SCRATCH/first"
    is "$JVM_NAME: every redefinition is told" "$(sees redefined)" 50
    holds redefined_methods -ge 200
    check "$JVM_NAME: new methods have the idnums of the old ones" [ "$(sees idnum_kept)" -gt 20 ]
}

for jdk in $(agent_jdks); do
    known_methods "$jdk"
    unloaded "$jdk" "$([ "$jdk" = 25 ] && echo Z || echo Serial)"
    redefined "$jdk" "$([ "$jdk" = 25 ] && echo retransform || echo redefine)"
done
jvm_start "$jdk" "example" "-agentpath:$SCRATCH/asgst_sampler.so=$SCRATCH/stacks" \
    "-agentpath:$SCRATCH/asgst_unloads.so" AsgstLoad 500
jvm_wait result && jvm_end 0
check "the sampler's stacks can be read" grep -qE '^AsgstLoad\.main;AsgstLoad\.(spin|deflate)' "$SCRATCH/stacks"
done_testing
