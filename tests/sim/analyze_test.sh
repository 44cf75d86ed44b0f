#!/bin/bash
# nmtwatch analyze on what people really send: folders, gz, several replies, damaged and hostile files.
# timeout: 120
. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
golden=tests/golden
box=$SCRATCH/box
mkdir -p "$box"

analyze() { # FILTER FILE...
    local filter=$1
    shift
    "$NMTWATCH" analyze --json "$@" 2>"$SCRATCH/err" | jq -c "$filter" 2>&1
}

# --- a folder of captures ----------------------------------------------------------------------------
for jdk in 8 17 21 25; do
    is "captures of $jdk: every line is understood" "$(analyze .unparsed_lines $golden/jdk$jdk)" 0
    is "captures of $jdk: no other JDK is taken for it" \
        "$(analyze "[.inputs[] | select(.jdk != null and .jdk != $jdk)] | length" $golden/jdk$jdk)" 0
done

# Kind and JDK of each capture. UPDATE_GOLDEN=1 writes them anew: read the diff.
for jdk in 8 17 21 25; do
    kinds=$(analyze '.inputs[] | [(.file | split("/") | last), .kind, .jdk]' $golden/jdk$jdk | sort)
    [ -z "${UPDATE_GOLDEN-}" ] || echo "$kinds" >$golden/jdk$jdk/text_kind.golden
    is "captures of $jdk: as what each is read" "$kinds" "$(cat $golden/jdk$jdk/text_kind.golden)"
done

# --- recognised by content, packed or not -------------------------------------------------------------
cp $golden/jdk17/nmt_summary.txt "$box/photo.jpg"
gzip -c $golden/jdk17/nmt_summary.txt >"$box/notes"
is "a name says nothing" "$(analyze '[.inputs[].kind]' "$box/photo.jpg")" '["nmt-summary"]'
is "packed, under any name" "$(analyze '[.inputs[].kind]' "$box/notes")" '["nmt-summary"]'
packers=(xz zstd bzip2)
! emulated || packers=(xz zstd) # the sysroot has no libbz2
for packer in "${packers[@]}"; do
    need "$packer"
    "$packer" -c $golden/jdk17/nmt_summary.txt >"$box/packed"
    is "packed by $packer" "$(analyze '[.inputs[].kind]' "$box/packed")" '["nmt-summary"]'
    head -c 300 "$box/packed" >"$box/packed.cut"
    exits "packed by $packer and cut" 74 "$NMTWATCH" analyze "$box/packed.cut"
    contains "and it is told" "$OUTPUT" "damaged"
done
is "standard input" "$("$NMTWATCH" analyze --json - <"$box/notes" | jq -c '[.inputs[] | [.file, .kind]]')" '[["-","nmt-summary"]]'
head -c 700 "$box/notes" >"$box/cut.gz"
is "packed and cut: its front counts" "$(analyze '[.inputs[].kind]' "$box/cut.gz")" '["nmt-summary"]'
contains "and it is told" "$(cat "$SCRATCH/err")" "cut.gz"

# --- levels: far more than a JVM has at its start, without any history ------------------------------------
grown() { # CATEGORY
    awk -v name="$1" '$1 == "-" && index($0, " " name " (reserved=") {
            sub(/reserved=[0-9]+KB, committed=[0-9]+KB/, "reserved=12058624KB, committed=12058624KB")
        } { print }' "$golden/jdk17/nmt_summary.txt"
}
for category in Class Thread Code GC Compiler Internal Other Symbol "Native Memory Tracking" "Arena Chunk" \
    Module Metaspace; do
    grown "$category" >"$box/grown"
    if ! grep -q "$category (reserved=12058624KB" "$box/grown"; then
        fail "11.5 GB of $category: CRITICAL" "the capture has no such category"
        continue
    fi
    is "11.5 GB of $category: CRITICAL" \
        "$(analyze '.findings[0] | .severity + " " + (.title | contains("'"$category"'") | tostring)' "$box/grown")" \
        '"CRITICAL true"'
    is "11.5 GB of $category: a profiler is not APPROPRIATE" \
        "$(analyze '.jvms[0].suitability != "APPROPRIATE"' "$box/grown")" true
done
grown "Java Heap" >"$box/grown"
is "11.5 GB of Java heap: the largest, and a note" \
    "$(analyze '[.findings[] | [.severity, .id, .evidence.category]]' "$box/grown")" '[["INFO","nmt-largest","Java Heap"]]'

# --- several replies in one file ------------------------------------------------------------------------
{
    echo '$ jcmd 7 VM.uptime; jcmd 7 VM.native_memory'
    printf '7:\n75.302 s\n'
    sed '1s/.*/7:/' $golden/jdk17/nmt_summary.txt
    echo '$ jcmd 7 VM.classloader_stats'
    sed '1s/.*/7:/' $golden/jdk17/classloader_stats.txt
    printf '7:\nNative memory tracking is not enabled\n'
} >"$box/session"
is "several replies with prompts" "$(analyze '[.inputs[] | [.kind, .pid]]' "$box/session")" \
    '[["uptime",7],["nmt-summary",7],["classloader-stats",7],["refusal",7]]'
is "the prompt in front is ignored, and counted" "$(analyze .ignored_lines "$box/session")" 1

# --- files that are nothing ------------------------------------------------------------------------------
: >"$box/empty"
head -c 300000 /dev/urandom >"$box/garbage"
head -c 100000 /dev/zero >"$box/zeros"
truncate -s 2G "$box/sparse"
for name in empty garbage zeros; do
    exits "$name: nothing is known" 3 "$NMTWATCH" analyze --json "$box/$name"
    is "$name: not recognised" "$(jq -c '[.inputs, .findings, (.unrecognised | length)]' <<<"$OUTPUT")" '[[],[],1]'
done
exits "2 GB of nothing: nothing is known" 3 timeout $((10 * TAP_PATIENCE)) "$NMTWATCH" analyze --json "$box/sparse"
cat $golden/jdk17/nmt_summary.txt >>"$box/sparse"
is "a log behind a hole, as rotation leaves it" "$(analyze '.inputs[].kind' "$box/sparse")" '"nmt-summary"'
for input in /dev/zero /dev/urandom /proc/self/pagemap; do
    exits "$input has no end" 3 timeout $((10 * TAP_PATIENCE)) "$NMTWATCH" analyze "$input"
    contains "$input: said" "$OUTPUT" "analyze: $input: no text, and without an end"
done
endless() { yes hello | timeout $((20 * TAP_PATIENCE)) "$NMTWATCH" "$@"; }
long_pipe() { # LAST LINE
    { yes 'a line of an application, which is about nothing' | head -c 90000000; echo; echo "$1"; } |
        "$NMTWATCH" analyze -
}
exits "a pipe of 90 MB is read to its end" 2 long_pipe 'java.lang.OutOfMemoryError: Metaspace'
contains "... where the error is" "$OUTPUT" "metaspace-limit"
exits "a pipe of 90 MB with nothing in it" 3 long_pipe 'the end'
contains "... has a headline" "$OUTPUT" "UNKNOWN: nothing here is about the memory of a JVM"
for verb in classlog verdict; do
    exits "$verb of one" 74 endless $verb -
    contains "... said ($verb)" "$OUTPUT" "in its first 64 MiB"
done
rm "$box/sparse"
printf '7:\n75.302 s\n\0\0\0\n7:\nNative Memory Tracking:\n\nTotal: reserved=1\0KB, committed=1KB\n' >"$box/nul"
exits "NUL bytes: no crash" 0 "$NMTWATCH" analyze --json "$box/nul"
exits "a file that is not there" 74 "$NMTWATCH" analyze "$box/nowhere"
contains "is named" "$OUTPUT" "nowhere"
exits "beside one that is: passed over" 0 "$NMTWATCH" analyze "$box/nowhere" $golden/jdk17/nmt_summary.txt
contains "and told" "$OUTPUT" "nowhere"
mkdir "$box/nothing"
exits "an empty folder" 74 "$NMTWATCH" analyze "$box/nothing"
exits "no file at all" 64 "$NMTWATCH" analyze
# Root may read everything: then without the capability.
unprivileged=()
[ "$(id -u)" != 0 ] || unprivileged=(setpriv --bounding-set "-dac_override,-dac_read_search")
cp "$box/nul" "$box/secret"
chmod 0 "$box/secret"
exits "a file that may not be read" 74 "${unprivileged[@]}" "$NMTWATCH" analyze "$box/secret"

# --- error files ---------------------------------------------------------------------------------------
{
    printf '#\n# There is insufficient memory for the Java Runtime Environment to continue.\n'
    printf '# Native memory allocation (mmap) failed to map 65536 bytes.\n'
    printf '#  Out of Memory Error (os_linux.cpp:2798), pid=17371, tid=17372\n#\n'
    printf '# JRE version: OpenJDK Runtime Environment (17.0.21+9) (build 17.0.21+9)\n\n'
    printf 'Dynamic libraries:\n7f1cd8000000-7f1cd9000000 rw-p 00000000 00:00 0 \n\n'
    sed 1d $golden/jdk17/nmt_summary.txt
} >"$box/hs_err_pid17371.log"
exits "an error file of native memory: CRITICAL" 2 "$NMTWATCH" analyze --json "$box/hs_err_pid17371.log"
is "and why" "$(jq -r '.findings[0].id' <<<"$OUTPUT")" native-out-of-memory
is "with its tracking inside" "$(jq -c '[.inputs[] | [.kind, .jdk, .pid, .used]]' <<<"$OUTPUT")" \
    '[["hs-err",17,17371,true],["nmt-summary",17,17371,true]]'

# --- logs ------------------------------------------------------------------------------------------------
for i in $(seq 300); do
    echo "[$i.100s][info][class,load] com.acme.A\$\$EnhancerByCGLIB\$\$$(printf %08x "$i") source: __JVM_DefineClass__"
    echo "12:00 the program says something"
    [ $((i % 50)) != 0 ] || echo "[$i.100s][info][gc] GC($i) Pause Young 10M->5M(20M) 1.2ms"
done >"$box/class.log"
exits "a log with noise that goes on: CRITICAL" 2 "$NMTWATCH" analyze --json "$box/class.log"
is "the family" "$(jq -c '.findings[0] | [.id, .family, .evidence.loads]' <<<"$OUTPUT")" \
    '["class-explosion","cglib",300]'
{
    head -120 "$box/class.log"
    echo "[900.000s][info][class,load] com.acme.Last source: file:/app.jar"
} >"$box/stopped.log"
exits "a log that has stopped: no alarm" 0 "$NMTWATCH" analyze --json "$box/stopped.log"

# --- scales and differences ---------------------------------------------------------------------------------
rm -rf "$box/looks" && mkdir "$box/looks"
cp $golden/jdk17/nmt_summary.txt "$box/looks/1"
cp $golden/jdk17/nmt_summary_MB.txt "$box/looks/2"
cp $golden/jdk17/nmt_summary_GB.txt "$box/looks/3"
touch -d '2026-01-01 00:00' "$box/looks/1"
touch -d '2026-01-01 00:01' "$box/looks/2"
touch -d '2026-01-01 00:02' "$box/looks/3"
is "summaries in MB and GB are not compared with one in KB" \
    "$(analyze '[.inputs[] | .used]' "$box/looks")" '[true,false,false]'
sed 's/^\( *-* *Other (reserved=\)[^)]*)/\190000KB +80000KB, committed=90000KB +80000KB)/' \
    $golden/jdk17/nmt_summary_diff_grow_KB.txt >"$box/grown"
exits "a difference with growth" 1 "$NMTWATCH" analyze --json "$box/grown"
contains "is a finding" "$(jq -r '.findings[].id' <<<"$OUTPUT")" direct-memory-growth

# --- a recording ---------------------------------------------------------------------------------------------
if [ -e tests/fuzz/seeds/recording/whole.nmt.gz ]; then
    "$NMTWATCH" replay --json tests/fuzz/seeds/recording/whole.nmt.gz >"$SCRATCH/replayed" 2>/dev/null
    is "a recording: the alerts of its replay" \
        "$(analyze '[.findings[] | select(.severity != "INFO") | .id] | unique' tests/fuzz/seeds/recording/whole.nmt.gz)" \
        "$(jq -sc '[.[] | select(.type == "alert" and .severity != "INFO") | .id] | unique' "$SCRATCH/replayed")"
    is "a recording: is used" \
        "$(analyze '[.inputs[] | [.kind, .used]]' tests/fuzz/seeds/recording/whole.nmt.gz)" '[["recording",true]]'
fi

# --- several JVMs, and texts that do not say whose they are -------------------------------------------------
rm -rf "$box/mixed" && mkdir "$box/mixed"
sed 's/^[0-9]*:$/41:/' $golden/jdk17/nmt_summary.txt >"$box/mixed/1"
sed 's/^[0-9]*:$/41:/' $golden/jdk17/nmt_summary.txt >"$box/mixed/2"
sed 's/^[0-9]*:$/42:/' $golden/jdk17/nmt_summary.txt >"$box/mixed/3"
cp "$box/class.log" "$box/mixed/0-without"
is "of two JVMs: a text without a process id stands for itself" \
    "$(analyze '[.jvms[] | .pid // "none"] | sort' "$box/mixed")" '[41,42,"none"]'
is "and its findings are nobody else's" \
    "$(analyze '[.findings[] | select(.id == "class-explosion") | .evidence.pid]' "$box/mixed")" '[-1]'
rm "$box/mixed/3"
is "of one JVM: it is of that one" "$(analyze '[.jvms[].pid]' "$box/mixed")" '[41]'
rm -rf "$box/many" && mkdir "$box/many"
for i in 1 2 3; do # as in a container: each has the same process id
    cp "$box/hs_err_pid17371.log" "$box/many/$i.log"
done
printf '#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x1, pid=5, tid=6\n#\n' \
    >"$box/many/4.log"
cause=$(analyze '.findings[] | select(.id == "native-out-of-memory") | .evidence.cause' "$box/many" | head -1 | tr -d '"')
is "many error files: how many of each cause, in JSON" "$(analyze '.overview' "$box/many")" \
    "[{\"cause\":\"$cause\",\"files\":3},{\"cause\":\"crash-SIGSEGV\",\"files\":1}]"
contains "on a terminal" "$("$NMTWATCH" analyze "$box/many" 2>&1)" "4 error files"
contains "in Markdown" "$("$NMTWATCH" analyze --markdown "$box/many" 2>&1)" "| 3 | $cause |"
is "one error file: no overview" "$(analyze '.overview' "$box/hs_err_pid17371.log")" null

# --- what is not recognised says what it looks like ----------------------------------------------------------
looks() { # FILE
    "$NMTWATCH" analyze --json "$1" 2>/dev/null | jq -r '.looks_like[0].what'
}
printf '\177ELF\2\1\1\0\0\0' >"$box/core"
is "a core dump" "$(looks "$box/core")" "a program or a core dump"
printf 'FLR\0\0\2' >"$box/jfr"
is "a JFR file" "$(looks "$box/jfr")" "a recording of Flight Recorder (JFR)"
printf 'it does not work\n' >"$box/prose"
exits "prose: an exit code of its own" 3 "$NMTWATCH" analyze "$box/prose"
contains "prose: a headline of its own" "$OUTPUT" "UNKNOWN: nothing here"
contains "... in Markdown" "$("$NMTWATCH" analyze --markdown "$box/prose" 2>&1)" "# UNKNOWN: nothing here"
contains "prose: what it looks like" "$("$NMTWATCH" analyze "$box/prose" 2>&1)" "it looks like a text without a line"
contains "prose: how to get one that helps" "$("$NMTWATCH" analyze "$box/prose" 2>&1)" "jcmd PID VM.native_memory summary >FILE"
: >"$box/empty"
is "an empty file" "$(looks "$box/empty")" "an empty file"

# --- a log that does not fit into memory --------------------------------------------------------------------
large=$SCRATCH/large.log
for i in $(seq 2000); do
    echo "[$i.100s][info][class,load] com.acme.A\$\$EnhancerByCGLIB\$\$$(printf %08x "$i") source: __JVM_DefineClass__"
done >"$SCRATCH/chunk"
while [ "$(stat -c %s "$large" 2>/dev/null || echo 0)" -lt 68000000 ]; do
    cat "$SCRATCH/chunk" "$SCRATCH/chunk" "$SCRATCH/chunk" "$SCRATCH/chunk" >>"$large"
done
echo 'Exception in thread "main" java.lang.OutOfMemoryError: Metaspace' >>"$large"
loads=$(grep -c 'class,load' "$large")
if ! emulated && [ "${SANITIZED:-0}" = 0 ] && ! nm -a "$NMTWATCH" 2>/dev/null | grep -q __asan; then
    is "a class log of 68 MB is read in less memory than it has bytes" \
        "$( (ulimit -v 40000 && "$NMTWATCH" analyze --json "$large" 2>/dev/null) |
            jq -c '[(.findings[] | .id), .inputs[0].kind] | unique')" \
        '["class-explosion","class-log","java-out-of-memory"]'
fi
is "all of its loads" "$(analyze '.findings[] | select(.id == "class-explosion") | .evidence.loads' "$large")" "$loads"
for i in $(seq 2000); do
    echo "[$i.100s][info][gc,metaspace] GC($i) Metaspace: $((200000 + i * 100))K(400000K)->$((200000 + i * 100))K(400000K) NonClass: 1K(2K)->1K(2K)"
    echo "[$i.101s][info][gc] GC($i) Pause Full (G1 Compaction Pause) 511M->510M(512M) 188.112ms"
done >"$SCRATCH/chunk"
: >"$large"
while [ "$(stat -c %s "$large")" -lt 68000000 ]; do
    cat "$SCRATCH/chunk" "$SCRATCH/chunk" "$SCRATCH/chunk" "$SCRATCH/chunk" >>"$large"
done
is "a GC log of 68 MB" "$(analyze '[.findings[].id]' "$large")" '["java-out-of-memory","class-metaspace-growth"]'
is "each of its full collections counts" \
    "$(analyze '.findings[0].title | capture("(?<n>[0-9]+) full").n | tonumber' "$large")" "$(grep -c 'Pause Full' "$large")"
rm -f "$large"

# --- logs of collections as a series --------------------------------------------------------------------------
gc_log() { # LIVE SET AT THE END, MB
    for i in $(seq 60); do
        echo "[$((i * 240)).500s][info][gc] GC($((2 * i))) Pause Young (Normal) (G1 Evacuation Pause) 3800M->3500M(4096M) 40.100ms"
        echo "[$((i * 240 + 9)).500s][info][gc] GC($((2 * i + 1))) Pause Full (G1 Compaction Pause) 3700M->$((1200 + ($1 - 1200) * i / 60))M(4096M) 800.100ms"
    done
}
gc_log 3600 >"$box/gc.log"
is "a live set that grows from 1.2 to 3.6 GB in 4 h" \
    "$(analyze '.findings[0] | [.id, .severity, .evidence.state]' "$box/gc.log")" '["heap-growth","WARNING","LINEAR"]'
contains "... told with its figures" "$(analyze '.findings[0].title' "$box/gc.log")" "3.5 GB in 3 h 56 min, of a heap of 4 GB"
gc_log 1210 >"$box/gc.log"
is "one that does not" "$(analyze '[.findings[] | [.id, .severity]]' "$box/gc.log")" '[["observation","INFO"]]'
{
    gc_log 1210
    for i in $(seq 12); do echo "[$((20000 + i)).100s][info][gc] Allocation Stall (worker-$i) 91.100ms"; done
} >"$box/gc.log"
is "threads that wait for memory" "$(analyze '.findings[0] | [.id, .evidence.allocation_stalls]' "$box/gc.log")" \
    '["java-out-of-memory",12]'
{
    echo ' S0C    S1C    S0U    S1U      EC       EU        OC         OU       MC     MU    CCSC   CCSU   YGC     YGCT    FGC    FGCT     GCT'
    for i in 1 2 3 4 5 6 7; do
        echo "512.0  512.0   0.0    0.0  4096.0   100.0   10240.0   $((i * 1200)).0   5000.0 4000.0 600.0 500.0      $i    0.010   $i      0.100    0.110"
    done
} >"$box/jstat"
contains "jstat: rows are a series" "$(analyze '.findings[0].title' "$box/jstat")" "23 % full at first and 82 % at last"

# --- thread dumps ---------------------------------------------------------------------------------------------
threads() { # THREADS OF http-nio, LARGEST NUMBER OF A POOL
    printf '2026-01-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17):\n\n'
    for i in $(seq "$1"); do
        printf '"http-nio-8080-exec-%d" #%d daemon prio=5 os_prio=0 tid=0x1 nid=0x2 waiting on condition\n' "$i" "$i"
        printf '   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native Method)\n'
        printf '\tat com.acme.Shop.wait(Shop.java:7)\n\n'
    done
    printf '"pool-%d-thread-1" #9 prio=5 os_prio=0 tid=0x1 nid=0x2 waiting on condition\n' "$2"
}
threads 20 3 >"$box/threads.1"
threads 120 4 >"$box/threads.2"
touch -d '2026-01-01 10:00' "$box/threads.1"
touch -d '2026-01-01 11:00' "$box/threads.2"
is "a dump of 21 threads" "$(analyze '.findings[0] | [.severity, .title]' "$box/threads.1")" \
    '["INFO","a dump of 21 threads, most of them \"http-nio-#-exec-#\" (20)"]'
is "two: the pattern that grew" "$(analyze '.findings[0] | [.id, .evidence.growth_threads]' "$box/threads.2" "$box/threads.1")" \
    '["thread-growth",100]'
contains "... and where its threads are" "$(analyze '.findings[0].evidence.threads_1' "$box/threads.1" "$box/threads.2")" \
    "120 x http-nio-#-exec-#, in com.acme.Shop.wait"
threads 20 8731 >"$box/threads.3"
is "an executor for each request" "$(analyze '.findings[0] | [.id, .severity, .evidence.pools]' "$box/threads.3")" \
    '["thread-growth","WARNING",8731]'

# --- sentences of other programs, and several texts of one incident --------------------------------------------
finding() { # TEXT: id and cause of the first finding
    printf '%b' "$1" >"$box/sentence"
    analyze '.findings[0] | [.id, .evidence.cause]' "$box/sentence"
}
is "YARN" "$(finding 'Container killed by YARN for exceeding memory limits. 5.5 GB of 5 GB physical memory used.')" \
    '["oom-killed","yarn-limit"]'
is "YARN, addresses" "$(finding 'Killing container: 1 GB of 5 GB physical memory used; 9.1 GB of 8.4 GB virtual memory used\n')" \
    '["oom-killed","yarn-virtual-limit"]'
is "Netty's reports" "$(finding "ERROR - LEAK: ByteBuf.release() was not called before it's garbage-collected.\n")" \
    '["direct-memory-growth","netty-leak"]'
is "a fork" "$(finding 'Cannot run program \"git\": java.io.IOException: error=12, Cannot allocate memory\n')" \
    '["native-out-of-memory","fork-refused"]'
is "the code cache" "$(finding 'OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.\n')" \
    '["java-out-of-memory","code-cache"]'
is "-Xlog:exceptions" "$(finding "[1s][info][exceptions] Exception <a 'java/lang/OutOfMemoryError'{0x1}: Java heap space>\n")" \
    '["java-out-of-memory","java-heap"]'
is "Gradle's daemon" "$(finding 'The Daemon will expire immediately since the JVM garbage collector is thrashing, after running out of JVM Metaspace.\n')" \
    '["java-out-of-memory","metaspace-limit"]'
is "files of a control group" "$(finding '$ cat memory.usage_in_bytes\n520000000\n$ cat memory.limit_in_bytes\n524288000\n')" \
    '["container-near-limit",null]'
is "a command line" "$(finding 'java -Xms2g -Xmx11264M -jar server.jar\n')" '["observation",null]'
is "one of OpenJ9" "$(finding 'java -Xmx100m -Xscmx60M -jar server.jar\n')" '[null,null]'
{
    sed 's/^[0-9]*:$/7:/' $golden/jdk17/nmt_summary.txt
} >"$box/case.nmt"
printf ' num     #instances         #bytes  class name\n-----\n   1:       2051366         440M  [C\n   2:      20400         99K  a.B\n' >"$box/histo"
contains "a histogram with sizes of numfmt" "$(analyze '.findings[0].title' "$box/histo")" "most are 2 051 366 [C, 440 MB"
is "the middle of a kernel's report" \
    "$(finding 'memory: usage 4194304kB, limit 4194304kB, failcnt 411\n')" '["oom-killed","container-limit"]'
committed=$(analyze '.jvms[0].nmt.committed_bytes' "$box/case.nmt")
printf 'Name:\tjava\nPid:\t7\nVmRSS:\t%d kB\nThreads:\t30\n' $(((committed + 500000000) / 1024)) >"$box/case.status"
{
    printf ' num     #instances         #bytes  class name\n----------------------------------------------\n'
    printf '   1:         90000       99000000  [B\n   2:          2500         140000  java.util.zip.Deflater\n'
} >"$box/case.histo"
is "memory outside of NMT, and a histogram: one case, whatever the order" \
    "$(analyze '[.findings[] | select(.id == "memory-outside-nmt") | .evidence.cause]' "$box/case.histo" "$box/case.nmt" "$box/case.status")" \
    '["deflaters"]'
contains "... with its figures" \
    "$(analyze '[.findings[] | select(.id == "memory-outside-nmt") | .title]' "$box/case.nmt" "$box/case.status" "$box/case.histo")" \
    "2 500 objects of java.util.zip.Deflater"

# --- how it is told --------------------------------------------------------------------------------------------
exits "as text" 2 "$NMTWATCH" analyze "$box/class.log"
contains "as text: what was read" "$OUTPUT" class.log
title=$(sed -n '1s/^CRITICAL: //p' <<<"$OUTPUT")
is "the title stands once" "$(grep -cF -- "${title:0:60}" <<<"$OUTPUT")" 1
is "nothing of profilers, of which the text does not speak" \
    "$("$NMTWATCH" analyze "$box/stopped.log" 2>/dev/null | grep -ciE 'profiler|jmethodID')" 0
exits "as Markdown" 2 "$NMTWATCH" analyze --markdown "$box/class.log"
contains "as Markdown: a heading" "$OUTPUT" "# CRITICAL"
is "two JVMs: each finding says whose it is" \
    "$(analyze '[.findings[].evidence.pid] | unique' "$box/hs_err_pid17371.log" \
        <(sed 's/^7:/8:/' "$box/session") 2>/dev/null)" '[8,17371]'
done_testing
