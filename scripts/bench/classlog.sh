#!/bin/bash
# bench-classlog: nmtwatch classlog beside wc, ripgrep, mawk and sort|uniq on the same log.
#
# usage: bench/classlog.sh [BUILD [MB]]      size of the log (1024); it is generated, read once, and removed
#
# CPU time (user + system) on one core, from the page cache, median of five interleaved rounds.
set -u
. "$(dirname "$0")/../lib.sh"
nmtwatch=${1:-build}/nmtwatch
[ -x "$nmtwatch" ] || { echo "bench-classlog: $nmtwatch is not built" >&2; exit 1; }
megabytes=${2:-1024}
log=$(mktemp /tmp/nmtwatch-classlog.XXXXXX) || exit 1
times=$(mktemp) || exit 1
trap 'rm -f "$log" "$times"' EXIT

# Fourteen generators with names that are all different, of every kind that floor/base/normalize knows.
awk -v bytes=$((megabytes * 1048576)) 'function tail(n,   s) {
    for (s = ""; n > 0; n--) s = s substr(alphabet, int(rand() * 62) + 1, 1)
    return s
}
BEGIN {
    srand(7)
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    defined = " source: __JVM_DefineClass__"
    while (size < bytes) {
        k = int(rand() * 14)
        if (k == 0) s = "Script" n " source: file:/groovy/shell"
        else if (k == 1) s = "com.acme.web.Controller$$EnhancerBySpringCGLIB$$" sprintf("%08x", n * 40503 % 4294967296) \
            " source: file:/app/lib/app.jar"
        else if (k == 2) s = "com.acme.Host$$Lambda/0x" sprintf("%016x", n * 1024) " source: com.acme.Host"
        else if (k == 3) s = "jdk.internal.reflect.GeneratedMethodAccessor" n defined
        else if (k == 4) s = "com.acme.order.Order$ByteBuddy$" tail(8) " source: __ByteBuddy__"
        else if (k == 5) s = "com.acme.model.Customer$HibernateProxy$" tail(8) defined
        else if (k == 6) s = "jdk.proxy2.$Proxy" n " source: __dynamic_proxy__"
        else if (k == 7) s = "com.acme.svc.Account_$$_jvst" sprintf("%x_%x", n / 4096 % 256, n) " source: file:/srv/app/lib/javassist.jar"
        else if (k == 8) s = "org.apache.dubbo.common.bytecode.Proxy" n " source: file:/srv/app/lib/dubbo.jar"
        else if (k == 9) s = "com.acme.rules.Rule_" n "_" tail(6) " source: file:/tmp/rules" n ".jar"
        else if (k == 10) s = "org.mvel2.asm.Accessor" n "x" int(rand() * 1000) " source: com.acme.Rules"
        else if (k == 11) s = "com.acme.gen" n % 977 ".Gen$" n " source: file:/app/lib/gen.jar"
        else if (k == 12) s = "org.springframework.expression.spel.Ex" n " source: file:/srv/app/lib/spring-expression.jar"
        else s = "com.acme.mapper.ASMSerializer_" n "_Order source: com.alibaba.fastjson.util.ASMClassLoader"
        line = sprintf("[%d.%03ds][info][class,load] ", n / 2000, n / 2 % 1000) s "\n"
        printf "%s", line
        size += length(line)
        n++
    }
}' >"$log"
cat "$log" >/dev/null

tools=(wc)
commands=("wc -l")
command -v rg >/dev/null && { tools+=(ripgrep); commands+=("rg -c class,load"); }
command -v mawk >/dev/null && { tools+=(mawk); commands+=("mawk '/class,load/{n++}END{print n}'"); }
tools+=("classlog --count" classlog)
commands+=("$nmtwatch classlog --count" "$nmtwatch classlog")
for _ in 1 2 3 4 5; do
    for i in "${!tools[@]}"; do
        TIMEFORMAT="$i %U %S"
        { time taskset -c 0 bash -c "exec ${commands[$i]} $log" >/dev/null; } 2>>"$times"
    done
done
# The pipeline people write; once, on the first 64 MB: it would take minutes.
TIMEFORMAT="pipeline %U %S"
head -c 67108864 "$log" >"$log.part"
{ time taskset -c 0 bash -c "sed 's/.*load\] //; s/ source.*//; s/[0-9]*\$//' '$log.part' | sort | uniq -c | sort -rn | head" \
    >/dev/null; } 2>>"$times"
rm -f "$log.part"

size=$(stat -c %s "$log")
printf '%-20s %10s %10s\n' tool GB/s "of wc -l"
for i in "${!tools[@]}"; do
    awk -v i="$i" '$1 == i { print $2 + $3 }' "$times" | sort -n | sed -n 3p |
        awk -v size="$size" -v tool="${tools[$i]}" -v file="$times.wc" '{
            speed = size / 1e9 / ($1 > 0 ? $1 : 0.001)
            if (tool == "wc") { print speed > file } else { getline wc < file }
            printf "%-20s %10.2f %10.2f\n", tool, speed, tool == "wc" ? 1 : speed / wc
        }'
done
awk '$1 == "pipeline" { printf "%-20s %10.3f\n", "sed|sort|uniq -c", 0.067108864 / ($2 + $3) }' "$times"
rm -f "$times.wc"
