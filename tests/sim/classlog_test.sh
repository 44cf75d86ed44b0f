#!/bin/bash
# nmtwatch classlog: counts, families, damaged and hostile logs, growing files.
. "$(dirname "$0")/../tap.sh"

nmtwatch=${NMTWATCH:-build/nmtwatch}
need_built "$nmtwatch"

# Classes as three generators make them: numbered, the same name again, churning.
make_log() { # LINES
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++) {
            t = sprintf("[%d.%03ds][info][class,load] ", i / 10, i % 10 * 100)
            print t "Script" i " source: file:/groovy/shell"
            print t "SC source: __JVM_DefineClass__"
            print t "com.acme.Host$$Lambda/0x000000080" (10000 + i) " source: com.acme.Host"
            if (i > 0) {
                t = sprintf("[%d.%03ds][info][class,unload] unloading class ", i / 10, i % 10 * 100)
                print t "com.acme.Host$$Lambda/0x000000080" (10000 + i - 1) " 0x000000080" (10000 + i - 1)
            }
        }
    }'
}
make_log 6000 >"$SCRATCH/load.log"
"$nmtwatch" classlog "$SCRATCH/load.log" --json >"$SCRATCH/load.json"
json() { # FILTER
    jq -c "$1" "$SCRATCH/load.json"
}
is "loads, unloads, lines, unparsed" "$(json '[.loads, .unloads, .lines, .unparsed]')" \
    "[18000,5999,23999,0]"
is "numbered names are one row" \
    "$(json '.families[] | select(.name == "Script#") | [.loads, .unloads, .family]')" \
    '[6000,0,"groovy-shell"]'
is "the same name again is one row of one name" \
    "$(json '.families[] | select(.name == "SC") | [.loads, .names, .same_name_loads]')" '[6000,1,6000]'
is "hidden classes fold, and their unloads with them" \
    "$(json '.families[] | select(.family == "jdk-lambda") | [.loads, .unloads]')" '[6000,5999]'
is "it goes on" "$(json .verdict)" '"LINEAR"'
is "who goes on" "$(json '[.families[] | {(.name): .going_on}] | add | [.["Script#"], .SC]')" \
    '["growing","growing"]'
is "rates add up" "$(json '[.rates[].loads] | add')" 18000

gzip -k "$SCRATCH/load.log"
for way in "$SCRATCH/load.log.gz" -; do
    is "the same from ${way##*.}" \
        "$("$nmtwatch" classlog "$way" --json <"$SCRATCH/load.log" | jq -S .families | md5sum)" \
        "$(jq -S .families "$SCRATCH/load.json" | md5sum)"
done
is "the same through a pipe of compressed data" \
    "$("$nmtwatch" classlog - --json <"$SCRATCH/load.log.gz" | jq .loads)" 18000
is "--count counts" "$("$nmtwatch" classlog "$SCRATCH/load.log" --count)" \
    "18000 loads, 5999 unloads, 23999 lines, 0 not understood"

# Started up and done: it does not go on.
{ make_log 300; for i in $(seq 31 3600); do echo "[$i.000s][info][gc] GC($i) Pause Young 2M->1M"; done
    echo "[3600.100s][info][class,load] Last source: file:/app.jar"; } >"$SCRATCH/stopped.log"
contains "a log that has calmed down" \
    "$("$nmtwatch" classlog "$SCRATCH/stopped.log" --json | jq -r .verdict)" CONVERGED

# A start-up of 5 000 classes in ten seconds, then 20 a second, for 100 s; and the same slowing down, which is a start-up.
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "[%.3fs][info][class,load] com.app.C%d source: file:/app.jar\n", i / 500, i
    for (i = 0; i < 1800; i++) printf "[%.3fs][info][class,load] com.acme.Script%d source: x\n", 10 + i / 20, i }' >"$SCRATCH/behind.log"
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "[%.3fs][info][class,load] com.app.C%d source: file:/app.jar\n", i / 500, i
    for (i = 0; i < 900; i++) printf "[%.3fs][info][class,load] com.app.D%d source: file:/app.jar\n", 10 - 15 * log(1 - i / 903), i }' \
    >"$SCRATCH/slower.log"
is "a constant rate behind a start-up" "$("$nmtwatch" classlog "$SCRATCH/behind.log" --json | jq -r .verdict)" LINEAR
lacks "a start-up that slows down is no growth" "$("$nmtwatch" classlog "$SCRATCH/slower.log" --json | jq -r .verdict)" LINEAR

printf '[Opened /rt.jar]\n[Loaded a.B from /rt.jar]\n[Unloading class a.B 0x00007f]\nHello\n[Loaded a.C' \
    >"$SCRATCH/jdk8.log"
is "JDK 8, and a cut line at the end" \
    "$("$nmtwatch" classlog "$SCRATCH/jdk8.log" --json | jq -c '[.loads, .unloads, .lines]')" "[1,1,5]"
printf 'a.B source: file:/x.jar\r\n\0\0\0\n%s source: y\n' "$(head -c 300000 /dev/zero | tr '\0' x)" \
    >"$SCRATCH/odd.log"
exits "CRLF, NUL bytes and an endless name" 0 "$nmtwatch" classlog "$SCRATCH/odd.log" --json
head -c 100000 /dev/urandom >"$SCRATCH/noise"
exits "noise" 0 "$nmtwatch" classlog "$SCRATCH/noise" --json
is "holds no class" "$("$nmtwatch" classlog "$SCRATCH/noise" --json | jq .loads)" 0
head -c 20000 "$SCRATCH/load.log.gz" >"$SCRATCH/cut.log.gz"
exits "cut compressed data: its front counts" 0 "$nmtwatch" classlog "$SCRATCH/cut.log.gz"
contains "and that it was cut is told" "$OUTPUT" "ends too early"
: >"$SCRATCH/empty"
exits "an empty file" 0 "$nmtwatch" classlog "$SCRATCH/empty" --json
exits "a file that is not there" 74 "$nmtwatch" classlog "$SCRATCH/none"
exits "a folder" 74 "$nmtwatch" classlog "$SCRATCH"
exits "no file" 64 "$nmtwatch" classlog
exits "an unknown option" 64 "$nmtwatch" classlog x --nope
printf '[0.1s][info][class,load] Ev\033[31mil source: file:/x\n%.0s' 1 2 3 >"$SCRATCH/evil.log"
is "names are escaped" "$("$nmtwatch" classlog "$SCRATCH/evil.log" | grep -c $'\033')" 0

# A growing file, rotated once.
make_log 10 >"$SCRATCH/grow.log"
"$nmtwatch" classlog "$SCRATCH/grow.log" --follow --json --for 3s >"$SCRATCH/grow.json" &
follower=$!
sleep 0.7
make_log 20 | tail -n 10 >>"$SCRATCH/grow.log"
sleep 0.7
mv "$SCRATCH/grow.log" "$SCRATCH/grow.log.1"
make_log 5 >"$SCRATCH/grow.log"
wait "$follower"
is "a growing file that is rotated" "$(jq .lines "$SCRATCH/grow.json")" $((39 + 10 + 19))
done_testing
