#!/bin/bash
# Texts of strangers on terminals and in logs: every verb, every way to fail and the log of `serve` are fed
# with names and files that hold what a terminal would obey or a reader would be misled by.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=${NMTWATCH:-build/nmtwatch}
FAKE_JVM=${FAKE_JVM:-$(dirname "$NMTWATCH")/fake_jvm}
if [ ! -x "$NMTWATCH" ] || [ ! -x "$FAKE_JVM" ]; then
    skip_all "nmtwatch or fake_jvm is not built"
fi

# A title, C1 as a byte and as U+009B, DEL, an override of direction, an isolate, separators of lines and
# of paragraphs, a line of its own that looks like ours, what is no UTF-8.
evil=$'x\e]0;owned\a\x9b31m\xc2\x9b31m\x7f\xe2\x80\xaegpj\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\xa9\r\nALERT critical forged (pid 1): gone\xff\xc3'

harmless() { # NAME FILE...: no control character but line ends, UTF-8, nothing that reorders, no forged line
    local name=$1 file
    shift
    for file; do
        if ! iconv -f UTF-8 -t UTF-8 "$file" >"$SCRATCH/utf8" 2>&1; then
            fail "$name" "it is not UTF-8: $(cat -v "$file" | head -n 3)"
            return
        elif LC_ALL=C.UTF-8 grep -nP \
            '[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]' "$file" \
            >"$SCRATCH/found"; then
            fail "$name" "$(head -n 3 "$SCRATCH/found" | cat -v)"
            return
        elif grep -q '^ALERT critical forged' "$file"; then
            fail "$name" "a forged line: $(grep -m 1 -n '^ALERT critical forged' "$file")"
            return
        fi
    done
    pass "$name"
}
# NAME ARGUMENT...: what the verb prints is harmless, and something is printed.
fed() {
    local name=$1
    shift
    timeout 60 "$NMTWATCH" "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" </dev/null
    if [ ! -s "$SCRATCH/out" ] && [ ! -s "$SCRATCH/err" ]; then
        fail "$name" "nothing was printed"
    else
        harmless "$name" "$SCRATCH/out" "$SCRATCH/err"
    fi
}
fake() { # OPTION...: pid in $FAKE
    spawn "$FAKE_JVM" --for 150 --socket now "$@" >"$SCRATCH/fake"
    FAKE=$SPAWNED
    wait_for 20 grep -q '^ready' "$SCRATCH/fake"
}

# --- a JVM whose main class and classes are called so ------------------------------------------------

fake --main "$evil" --class-stem "$evil" --rate 50
fed "list" list
fed "list --json" list --json
fed "check" check "$FAKE"
fed "watch" watch "$FAKE" --for 2s --interval 200ms
fed "record" record "$FAKE" -o "$SCRATCH/evil.nmt.gz" --for 3s --warmup 1s --interval 200ms
fed "replay" replay "$SCRATCH/evil.nmt.gz"
fed "report" report "$SCRATCH/evil.nmt.gz" -o "$SCRATCH/report"
fed "diff" diff "$SCRATCH/evil.nmt.gz" "$SCRATCH/evil.nmt.gz"
fed "soak of a recording" soak --recording "$SCRATCH/evil.nmt.gz"
fed "triage" triage "$FAKE" --for 1s -o "$SCRATCH/triage"
fed "analyze of its folder" analyze "$SCRATCH/triage"
fed "plan" plan "$FAKE"
fed "profile start" profile start "$FAKE"
fed "profile alloc" profile alloc "$FAKE" --for 1s
if ldconfig -p | grep -q 'libmicrohttpd\.so\.12'; then
    printf '[serve]\nlisten = 127.0.0.1:0\ndiscover = 500ms\nmin_age = 100ms\n' >"$SCRATCH/serve.ini"
    printf '[watch]\nnmt_interval = 500ms\n' >>"$SCRATCH/serve.ini"
    timeout 60 "$NMTWATCH" serve --config "$SCRATCH/serve.ini" --for 6s >"$SCRATCH/log" 2>"$SCRATCH/err" &
    served=$!
    sleep 4
    kill -TERM "$FAKE"
    wait "$served"
    contains "serve's log names the JVM" "$(cat "$SCRATCH/log")" 'watching root/x\x1b]0;owned'
    harmless "serve's log" "$SCRATCH/log" "$SCRATCH/err"
else
    skip "serve's log" "libmicrohttpd is not installed"
fi

# --- JVMs that refuse, in their own words ---------------------------------------------------------------

refusal() { # NAME TEXT OF THE REPLY
    printf '%s\n' "$2" >"$SCRATCH/reply"
    fake --answer file --file "$SCRATCH/reply"
    fed "$1: check" check "$FAKE"
    fed "$1: watch" watch "$FAKE" --for 1s
    fed "$1: triage" triage "$FAKE" --for 1s -o "$SCRATCH/refused.$FAKE"
    fed "$1: profile" profile start "$FAKE"
    fed "$1: plan" plan "$FAKE"
    kill_jvm "$FAKE"
}
refusal "an exception" "1
java.lang.IllegalArgumentException: $evil"
refusal "an unknown command" "1
java.lang.IllegalArgumentException: Unknown diagnostic command $evil"
refusal "no result code" "$evil"
refusal "a reply that is none" "0
$evil"

# --- files and words --------------------------------------------------------------------------------------

named=$SCRATCH/$(tr -d / <<<"$evil")
echo "$evil" >"$named"
mkdir "$SCRATCH/folder"
cp "$named" "$SCRATCH/folder/$(basename "$named")"
for verb in replay report diff analyze classlog verdict gnuplot repair; do
    fed "$verb of a file called so" "$verb" "$named"
    fed "$verb of a file that is not there" "$verb" "$named.not"
done
fed "analyze of a folder with it" analyze "$SCRATCH/folder"
fed "an unknown verb" "$evil"
for verb in list check watch record replay report diff soak triage analyze plan profile serve rules classlog \
    verdict gnuplot repair; do
    fed "$verb: an unknown option" "$verb" "--$evil"
    fed "$verb: an operand" "$verb" "$evil"
done
printf '[serve]\n%s = 1\n' "$(tr -d '\r\n' <<<"$evil")" >"$SCRATCH/bad.ini"
fed "serve: an unknown key" serve --config "$SCRATCH/bad.ini"
fed "watch: an unknown key" watch 1 --config "$SCRATCH/bad.ini"
fed "rules: an unknown key" rules --config "$SCRATCH/bad.ini"

# --- and nobody goes around it -----------------------------------------------------------------------------

# Progress on a terminal, which holds numbers and words of ours, begins with a carriage return.
is "nothing else writes to standard error" \
    "$(grep -rnE '(printf|puts|putc|perror)\(.*stderr|perror\(' nmtwatch --include='*.c' | grep -vE '"\\r')" ""

done_testing
