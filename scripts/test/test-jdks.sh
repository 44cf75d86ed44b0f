#!/bin/bash
# test-jdks: list, check, watch, triage, profile and holders against a live JVM of each JDK of scripts/test/jdks.sh
# and of each collector it has. nmtwatch looks from outside at a JVM in a container: mount and
# process namespaces of its own, another C library, pid 1 there. Prints TAP and the matrix.
#
# usage: test-jdks.sh [--quick] [--update] [VERSION...]     BUILD=build, or NMTWATCH=build/nmtwatch
#
# --quick: only the JDK's own choice of collector. COLLECTORS="Z G1": these alone. --update: what was tried goes into
# the table of README.md; what was not stays there.
# Run by scripts/test/arm64.sh [-v 25] with BUILD=build/aarch64-linux-gnu it tries that arm64 JDK, in no container.
# One JVM at a time: about 17 s for each, 12 minutes in all.
# Column "another user": the JVM runs as nobody in its container, nmtwatch is root: JDK 8 lets only its
# own user in. Column "no container": it runs on this machine, with the folder's C library by its ld.so.

. "$(dirname "$0")/../../tests/tap.sh"
quick=false update=false wanted=()
for argument; do
    case $argument in
    --quick) quick=true ;;
    --update) update=true ;;
    [0-9]*) wanted+=("$argument") ;;
    *)
        echo "usage: test-jdks.sh [--quick] [--update] [VERSION...]" >&2
        exit 64
        ;;
    esac
done
NMTWATCH=${NMTWATCH:-${BUILD:-build}/nmtwatch}
agent=$(realpath -m "${BUILD:-$(dirname "$NMTWATCH")}/libnmtagent.so")
architecture=$(uname -m | tr _ -)
emulated=${ARM64_REGISTERED:+true} emulated=${emulated:-false}
! $emulated || architecture="$ARM64_REGISTERED, emulated"
folder=$(scripts/test/jdks.sh folder)
commands=(list check watch triage profile holders)
collectors=(Serial Parallel G1 ConcMarkSweep Z Shenandoah)
read -ra tried <<<"${COLLECTORS:-${collectors[*]}}"
! $quick || tried=(default)
declare -A cell version # cell[JDK/COLLECTOR], as the matrix shows it

homes() { # "17 /usr/lib/jvm/...", a line each
    if $emulated; then
        echo "$("$JAVA_HOME/bin/java" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') $JAVA_HOME"
    else
        scripts/test/jdks.sh homes
    fi
}

[ -n "$(homes)" ] || skip_all "not installed: JDK 8 to 27 in $folder (make jdks)"
[ "$(id -u)" = 0 ] || skip_all "refused: chroot and namespaces need root"
$emulated || unshare --mount --pid --fork true 2>/dev/null || skip_all "refused: namespaces cannot be made here"

# Nothing is written into the folder: what the JVM sees as /tmp and /mnt is this test's.
mkdir -p "$SCRATCH/mnt"
$emulated || mkdir -p "$folder/mnt"
chmod 755 "$SCRATCH"
chmod 1777 "$SCRATCH/mnt"
user=0:0
inside() { # COMMAND...: as $user in a container of its own
    # shellcheck disable=SC2016
    exec unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" &&
        mount --bind "$1" "$0/mnt" && exec chroot --userspec="$2" "$0" "${@:3}"' \
        "$folder" "$SCRATCH/mnt" "$user" "$@"
}
beside() { # HOME COMMAND...: HOME's java, as a process of this machine
    local java=$folder$1/bin/java
    shift
    exec "$folder$(dynamic_linker)" --library-path "$folder/usr/lib/$(multiarch)" "$java" "$@"
}

build() { # by the oldest JDK, for all
    local home
    home=$(homes | head -n 1 | cut -d ' ' -f 2)
    cp tests/jdks/AnyJdk.java "$SCRATCH/mnt/"
    if $emulated; then
        "$home/bin/javac" -nowarn -d "$SCRATCH/mnt" "$SCRATCH/mnt/AnyJdk.java"
    else
        (inside "$home/bin/javac" -nowarn -d /mnt /mnt/AnyJdk.java)
    fi >"$SCRATCH/javac.log" 2>&1
}

# --- one JVM -----------------------------------------------------------------------------------

jvm_start() { # HOME COLLECTOR|default [beside]
    local flags=(-XX:NativeMemoryTracking=detail -Xmx192m) run=(inside "$1/bin/java") path=/mnt
    [ "$2" = default ] || flags+=(-XX:+UnlockExperimentalVMOptions "-XX:+Use${2}GC")
    if $emulated; then
        run=("$1/bin/java") path=$SCRATCH/mnt
    elif [ "${3:-inside}" = beside ]; then
        run=(beside "$1") path=$SCRATCH/mnt
    fi
    JVM_LOG=$SCRATCH/jvm.log
    spawn "${run[@]}" "${flags[@]}" -XX:ErrorFile="$path/hs_err.log" -cp "$path" AnyJdk 500 60 300 \
        >"$JVM_LOG" 2>&1
    JVM_WAITED=$SPAWNED
    wait_for 40 jvm_is_ready
    grep -q '^ready' "$JVM_LOG" || return
    JVM_PID=$JVM_WAITED
    [ "$path" != /mnt ] || JVM_PID=$(pgrep -P "$JVM_WAITED")
}
jvm_is_ready() {
    grep -q '^ready' "$JVM_LOG" || ! kill -0 "$JVM_WAITED"
}

jvm_end() { # prints what is wrong with its end; not in a subshell, whose child it is not
    local status=0
    kill -TERM "$JVM_PID" 2>/dev/null
    if ! wait_for 20 eval "! kill -0 $JVM_WAITED"; then
        echo "too slow: not within $((20 * TAP_PATIENCE)) s, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
        kill -KILL "$JVM_PID"
    fi
    wait "$JVM_WAITED" || status=$?
    [ $status = 143 ] || echo "ends with $status: $(tail -n 3 "$JVM_LOG")"
    if [ -e "$SCRATCH/mnt/hs_err.log" ]; then
        sed -n '1,12p' "$SCRATCH/mnt/hs_err.log"
        rm "$SCRATCH/mnt/hs_err.log"
    fi
    rm -f "/tmp/.java_pid$JVM_PID" "/tmp/.nmtagent_$JVM_PID" /tmp/hsperfdata_*/"$JVM_PID"
}

# --- what each command has to say of it; each prints what is wrong --------------------------------

code_of() { # MOST COMMAND...: runs it; exit codes up to MOST are verdicts
    local most=$1 code=0
    shift
    timeout $((60 * TAP_PATIENCE)) "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -le "$most" ] || echo "exit $code: $(tail -n 2 "$SCRATCH/err" "$SCRATCH/out")"
}
expect() { # FILE JQ_FILTER, which is true when all is well
    jq -e --arg jdk "$jdk" --argjson emulated "$emulated" --argjson pid "$JVM_PID" "$2" "$1" >/dev/null 2>&1 ||
        echo "not so: $2: $(head -c 600 "$1")"
}

looks_list() {
    code_of 0 "$NMTWATCH" list --json
    expect "$SCRATCH/out" '.jvms[] | select(.pid == $pid) | .jdk_major == ($jdk | tonumber) and
        .nmt == "detail" and .main == "AnyJdk" and .classes_loaded > 500 and .rss_bytes > 1000000'
}
looks_check() {
    code_of 2 "$NMTWATCH" check --json "$JVM_PID"
    expect "$SCRATCH/out" '.missing == null and (.sample | .loaders > 500 and .nmt_committed_bytes > 0
        and (.nmt | has("Class") and has("Internal") and has("Symbol")))'
    expect "$SCRATCH/out" '$jdk == "8" or (.sample.metaspace_used_bytes > 0)'
}
# Names come from the class-load log, which JDK 8 has not; nor can its methods be counted from outside. A JVM that is
# emulated is not observed.
looks_watch() {
    code_of 2 "$NMTWATCH" watch "$JVM_PID" --for 7s --nmt-interval 2s --warmup 2s \
        --loaders-interval 3s --cpu-pressure ignore --json
    jq -cs . "$SCRATCH/out" >"$SCRATCH/events" 2>/dev/null
    expect "$SCRATCH/events" 'any(.[]; .type == "loaders") and any(.[]; .internal_growth_bytes) and any(.[]; .type == "end")'
    # shellcheck disable=SC2016
    jq -r --arg jdk "$jdk" --argjson emulated "$emulated" '.[] | select(.type == "note") | .text | select(
        ($jdk == "8" and startswith("methods are not counted")) or ($emulated and test("emulated by")) | not)' "$SCRATCH/events"
    expect "$SCRATCH/events" '$jdk == "8" or any(.[]; .type == "names" and .method == "tap" and
        any(.families[]; .stem == "AnyJdk$Piece"))'
}
# The texts it keeps must be read again without an unknown line.
looks_triage() {
    rm -rf "$SCRATCH/triage"
    code_of 2 "$NMTWATCH" triage "$JVM_PID" --level thorough --gc --for 6s -o "$SCRATCH/triage" --json
    expect "$SCRATCH/out" '.jdk != null and .rss.total_bytes > 0 and
        ($jdk == "8" or any(.findings[]; .id == "class-explosion" and .family == "unknown:AnyJdk$Piece"))'
    expect "$SCRATCH/out" 'all(.findings[]; .id | startswith("agent-") | not)' # there is none yet
    code_of 2 "$NMTWATCH" analyze --json "$SCRATCH/triage/raw"
    expect "$SCRATCH/out" '.unparsed_lines == 0 and .unrecognised == [] and (.inputs | length) > 12'
}
looks_profile() {
    local seconds=2
    ! $emulated || seconds=10 # it is slow
    code_of 0 "$NMTWATCH" profile --agent "$agent" --for "${seconds}s" "$JVM_PID" -o "$SCRATCH/stacks.txt"
    # An emulator is busy with the definition of classes most of the time.
    local stack='^AnyJdk.main;AnyJdk$Piece.work [0-9]'
    ! $emulated || stack='^AnyJdk.main;AnyJdk.define;AnyJdk$Loader.*;java.lang.ClassLoader'
    grep -q "$stack" "$SCRATCH/stacks.txt" || echo "$stack is not in: $(head -c 600 "$SCRATCH/stacks.txt")"
}

# Its loaders are kept by a static list; the dump is taken and read.
looks_holders() {
    code_of 1 "$NMTWATCH" holders --allow-pause --json "$JVM_PID"
    expect "$SCRATCH/out" '.dump.damaged == 0 and (.dump.truncated | not) and any(.groups[]; .type == "AnyJdk$Loader" and
        .suspect and .held.strong == .loaders and .loaders >= 500 and .metaspace_bytes > 0 and .paths[0].cut == "AnyJdk.kept")'
}

has_command() { # NAME
    "$NMTWATCH" help "$1" >/dev/null 2>&1
}

examine() { # NAME KEY COMMAND...: of the JVM that runs; fills the cell
    local name=$1 key=$2 command wrong bad=''
    shift 2
    for command; do
        if ! has_command "$command"; then
            skip "$name: $command" "there is no such command"
            continue
        fi
        wrong=$("looks_$command" 2>&1)
        is "$name: $command" "$wrong" ""
        [ -z "$wrong" ] || bad="$bad $command"
    done
    jvm_end >"$SCRATCH/end" 2>&1
    wrong=$(cat "$SCRATCH/end")
    is "$name: unharmed" "$wrong" ""
    [ -z "$wrong" ] || bad="$bad JVM"
    cell[$key]=${bad:+fails:$bad}
    cell[$key]=${cell[$key]:-yes}
}

test_jdk() { # HOME
    local collector
    if $emulated; then
        version[$jdk]=$("$1/bin/java" -version 2>&1)
    else
        version[$jdk]=$( (inside "$1/bin/java" -version) 2>&1)
    fi
    version[$jdk]=$(sed -n '1s/[^"]*"\([^"]*\)".*/\1/p' <<<"${version[$jdk]}")
    for collector in "${tried[@]}"; do
        if jvm_start "$1" "$collector"; then
            examine "JDK $jdk, $collector" "$jdk/$collector" "${commands[@]}"
        elif grep -Eq 'not supported|Unrecognized VM option|not (been )?compiled|not included' \
            "$JVM_LOG"; then
            cell[$jdk/$collector]=-
        else
            fail "JDK $jdk, $collector: starts" "$(tail -n 5 "$JVM_LOG")"
            cell[$jdk/$collector]="does not start"
        fi
    done
    if $quick || [ -n "${COLLECTORS-}" ]; then return; fi
    if $emulated; then
        cell[$jdk/user]=- cell[$jdk/beside]=-
        return
    fi
    user=65534:65534
    if jvm_start "$1" default; then
        examine "JDK $jdk, another user" "$jdk/user" list check profile
    else
        fail "JDK $jdk, another user: starts" "$(tail -n 5 "$JVM_LOG")"
        cell[$jdk/user]="does not start"
    fi
    user=0:0
    # JDK 8's launcher finds itself by /proc/self/exe, which is the ld.so here.
    if jvm_start "$1" default beside; then
        examine "JDK $jdk, no container" "$jdk/beside" list check profile
    else
        skip "JDK $jdk, no container" "refused: does not start by another ld.so: $(tail -n 1 "$JVM_LOG")"
        cell[$jdk/beside]=-
    fi
}

# --- the matrix ----------------------------------------------------------------------------------

matrix() {
    local jdk collector
    echo "| JDK | architecture | ${collectors[*]/%/ |} another user | no container |" | sed 's/ConcMarkSweep/CMS/'
    echo "|---|---|${collectors[*]/*/---|}---|---|" | tr -d ' '
    for jdk in "${jdks[@]}"; do
        printf '| %s | %s ' "${version[$jdk]}" "$architecture"
        for collector in "${collectors[@]}" user beside; do
            printf '| %s ' "${cell[$jdk/$collector]-?}"
        done
        echo '|'
    done
}

# Rows by architecture and version, emulated ones last; of one JDK the first that is given, and what it has not ("?")
# from the next.
in_order() {
    awk -F ' *[|] *' '{
        version = $2
        sub(/^1[.]/, "", version)
        key = sprintf("%d\t%s\t%d\t|", $3 ~ /emulated/, $3, version)
        for (i = 2; i < NF; i++)
            if (!((key, i) in cell) || cell[key, i] == "?")
                cell[key, i] = $i
        count[key] = NF
    }
    END {
        for (key in count) {
            row = key
            for (i = 2; i < count[key]; i++)
                row = row " " cell[key, i] " |"
            print row
        }
    }' | sort -t "$(printf '\t')" -k 1,1n -k 2,2 -k 3,3n | cut -f 4
}

write_readme() { # between its marks; rows of what was not tried stay
    local begin='<!-- jdks: begin' end='<!-- jdks: end'
    grep -q "$begin" README.md && grep -q "$end" README.md || return
    {
        sed "/$begin/q" README.md
        matrix | head -n 2
        { matrix | tail -n +3 && sed -n "/$begin/,/$end/p" README.md | grep '^| [0-9]'; } | in_order
        sed -n "/$end/,\$p" README.md
    } >"$SCRATCH/README.md" && cp "$SCRATCH/README.md" README.md
}

if ! build; then
    fail "the program compiles" "$(cat "$SCRATCH/javac.log")"
    done_testing
fi
jdks=()
while read -r jdk home; do
    [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $jdk "* ]] || continue
    jdks+=("$jdk")
    test_jdk "$home" </dev/null
done < <(homes)
if ! $quick; then
    matrix | sed 's/^/# /'
    ! $update || check "the rows go into README.md" write_readme
fi
done_testing
