#!/bin/bash
# What a killed JVM leaves of the agent in /tmp goes with the agent's next start and with `list`; what
# a living one uses, what is not the agent's and what can still be read stays.
# timeout: 180
. "$(dirname "$0")/../tap.sh"
. tests/e2e/agent.sh
AGENT_FLAGS+=(-XX:TieredStopAtLevel=1) # half the CPU, and the tier is no matter here

jdk=$(agent_jdks | head -n 1)
name=nmtagent-leftovers-$$
trap 'rm -f "/tmp/$name"*; tap_cleanup' EXIT

profiled() { # NAME: a JVM that records to /tmp/NAME
    jvm_start "$jdk" "$1" -Dpause=50 Checksum 100000000 || return
    jvm_wait ready 60 || return
    check "$1: is profiled" profile start --cpu 10ms --chunk 1h --file "/tmp/$name-$1.jfr"
}

there() { # FILE...: which of them are there
    local file
    for file in "$@"; do
        [ ! -e "$file" ] || printf '%s ' "${file##*/}"
    done
}

profiled lives
lives=$JVM_PID
lives_files=(/tmp/.nmtagent_"$lives" "/tmp/$name-lives.jfr.chunk")
profiled dead
dead_files=(/tmp/.nmtagent_"$JVM_PID" "/tmp/$name-dead.jfr.chunk")
is "a JVM under the agent has both files" "$(there "${dead_files[@]}")" "$(printf '%s ' "${dead_files[@]##*/}")"

# Neither is the agent's: a finished chunk, a text, one with another name.
{ printf 'FLR\0'; head -c 2000 /dev/zero; } >"/tmp/$name-finished.jfr.chunk"
echo "a text" >"/tmp/$name-text.chunk"
echo "a text" >/tmp/.nmtagent_999999999
cp "/tmp/$name-lives.jfr.chunk" "/tmp/$name-linked.chunk"
ln "/tmp/$name-linked.chunk" "/tmp/$name-linked-too.chunk"
ln -s "/tmp/$name-linked.chunk" "/tmp/$name-link.chunk"
mkfifo "/tmp/$name-fifo.chunk"
others=(/tmp/"$name"-{finished.jfr,text,linked,linked-too,link,fifo}.chunk /tmp/.nmtagent_999999999)

"$NMTWATCH" list >/dev/null 2>&1
is "list leaves what is in use" "$(there "${dead_files[@]}" "${lives_files[@]}")" \
    "$(printf '%s ' "${dead_files[@]##*/}" "${lives_files[@]##*/}")"
kill -KILL "$JVM_PID"
wait "$JVM_PID" 2>/dev/null
contains "list says that it removed two" "$("$NMTWATCH" list 2>&1 >/dev/null)" \
    "removed 2 files that killed JVMs had left in /tmp"
is "it removes what a killed one left" "$(there "${dead_files[@]}")" ""
is "what is used stays" "$(there "${lives_files[@]}")" "$(printf '%s ' "${lives_files[@]##*/}")"
is "what is not the agent's stays" "$(there "${others[@]}")" "$(printf '%s ' "${others[@]##*/}")"

profiled second
dead_files=(/tmp/.nmtagent_"$JVM_PID" "/tmp/$name-second.jfr.chunk")
kill -KILL "$JVM_PID"
wait "$JVM_PID" 2>/dev/null
is "a killed one leaves both again" "$(there "${dead_files[@]}")" "$(printf '%s ' "${dead_files[@]##*/}")"
profiled third
is "the agent's next start removes them" "$(there "${dead_files[@]}")" ""
is "and nothing else" "$(there "${lives_files[@]}" "${others[@]}")" \
    "$(printf '%s ' "${lives_files[@]##*/}" "${others[@]##*/}")"

# Of a user by root, with the user's rights.
if [ "$(id -u)" = 0 ]; then
    cp "${lives_files[0]}" /tmp/.nmtagent_999999998
    chown nobody /tmp/.nmtagent_999999998
    "$NMTWATCH" list >/dev/null 2>&1
    is "root removes other users'" "$(there /tmp/.nmtagent_999999998)" ""
else
    skip "root removes other users'" "refused: not root"
fi

# Somebody cleans /tmp.
rm "${lives_files[0]}"
comes_again() { [ -e "${lives_files[0]}" ]; }
check "the totals come again when their file was removed" wait_for 30 comes_again
rm -f /tmp/.nmtagent_999999999
done_testing
