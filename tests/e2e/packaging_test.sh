#!/bin/bash
# What `make install`, `make dist` and `make sbom` make: files in their places, pages that two formatters
# read without a warning, completion that offers what there is, the same bytes twice.

. "$(dirname "$0")/../tap.sh"
NMTWATCH=$(realpath "${NMTWATCH:-build/nmtwatch}")
need_built "$NMTWATCH"
build=$(realpath --relative-to=. "$(dirname "$NMTWATCH")")
case $build in
build/asan) bail "what is installed has no sanitizer" ;;
esac

# --- install --------------------------------------------------------------------------------------

root=$SCRATCH/root
check "make install" make -s BUILD="$build" DESTDIR="$root" PREFIX=/opt/nmt install
under=$root/opt/nmt
is "everything is in its place" "$(for file in bin/nmtwatch share/man/man1/nmtwatch.1 \
    share/man/man1/nmtwatch-watch.1 share/man/man1/nmtwatch-plan.1 etc/nmtwatch/serve.ini \
    lib/sysusers.d/nmtwatch.conf lib/tmpfiles.d/nmtwatch.conf \
    share/bash-completion/completions/nmtwatch include/nmtagent_context.h \
    include/nmtwatch/asgst.h share/man/man3/asgst.3 share/doc/nmtwatch/examples/asgst_sampler.c share/doc/nmtwatch/examples/build/pom.xml \
    share/nmtwatch/java/nmtagent/Context.java lib/systemd/system/nmtwatch.service \
    share/doc/nmtwatch/SECURITY.md share/doc/nmtwatch/runbooks/class-explosion.md; do
    [ -s "$under/$file" ] || echo "$file"
done)" ""
silent "and nothing outside the prefix" find "$root" -type f -not -path "$under/*"
silent "files can be read by all" find "$root" -type f -not -perm -444
is "what runs says which version it is" "$("$under/bin/nmtwatch" version)" "nmtwatch $(<VERSION)"
contains "the unit starts what was installed" "$(grep ^ExecStart= "$under/lib/systemd/system/nmtwatch.service")" \
    "/opt/nmt/bin/nmtwatch serve --config /opt/nmt/etc/nmtwatch/serve.ini"
# What serve may start at once: TasksMax of the unit has its bounds in words.
bound() { # NAME FILE
    sed -nE "s/^#define $1 +([0-9]+).*/\1/p" "nmtwatch/$2"
}
worker=$((1 + 2 * $(bound CONNECTS_MAX worker/worker.c) + 3 * $(bound GUARDS_MAX worker/worker.c) +
    $(bound OBSERVERS_MAX worker/worker.c)))
tasks=$((2 + $(bound THREADS serve/web.c) + 8 * worker + $(bound RECEIVERS_MAX alert/receiver.h) +
    17 * $(bound NOTIFY_RUNNING_MAX alert/notify.h)))
allowed=$(sed -n 's/^TasksMax=//p' packaging/nmtwatch.service)
check "the unit's TasksMax ($allowed) is that of what serve starts ($tasks)" test "$allowed" -ge "$tasks" -a \
    "$allowed" -lt $((tasks * 5 / 4))
is "a wrong configuration is not started again" "$(sed -n 's/^RestartPreventExitStatus=//p' packaging/nmtwatch.service)" 64
if [ -e "$under/lib/nmtwatch/libnmtagent.so" ]; then
    spawn sleep 60
    "$under/bin/nmtwatch" profile "$SPAWNED" start >"$SCRATCH/profile" 2>&1
    lacks_in "the agent is found in lib/nmtwatch" "$SCRATCH/profile" "there is no libnmtagent"
    printf '#include <nmtagent_context.h>\nint main(void) { return 0; }\n' >"$SCRATCH/include.c"
    check "the header stands alone" "${CC:-gcc}" -Wall -Werror -I "$under/include" -fsyntax-only \
        "$SCRATCH/include.c"
else
    fail "the agent" "it was not built"
fi

# Debian's own among them: a package for another architecture does not link without the sysroot.
contains "LDFLAGS of the command line come beside those of the Makefile" \
    "$(make -n BUILD="$SCRATCH/flags" LDFLAGS=-Wl,-O1 "$SCRATCH/flags/nmtwatch" | grep -e "-o $SCRATCH/flags/nmtwatch ")" \
    "-Wl,-O1 -Wl,-z,relro -Wl,-z,now"

# --- man pages ------------------------------------------------------------------------------------

pages=("$under"/share/man/man1/*.1 "$under"/share/man/man3/*.3)
is "a page for each verb" "$("$NMTWATCH" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vxE 'help|version' |
    while read -r verb; do [ -e "$under/share/man/man1/nmtwatch-$verb.1" ] || echo "$verb"; done)" ""
is "every option of a verb is in its page" "$(for verb in watch soak profile serve; do
    "$NMTWATCH" help $verb | sed -nE '/^Options/,$ s/^  .{4}--([a-z-]+).*/\1/p' | while read -r option; do
        grep -qF "Fl \\-${option//-/\\-}" "$under/share/man/man1/nmtwatch-$verb.1" || echo "$verb $option"
    done
done)" ""
if command -v man >/dev/null; then
    is "man finds nothing to warn of" "$(for page in "${pages[@]}"; do
        MANWIDTH=90 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null
    done | head -n 5)" ""
else
    fail "man" "man is not installed"
fi
if command -v mandoc >/dev/null; then
    is "mandoc neither" "$(mandoc -T lint -W warning "${pages[@]}" 2>&1 | head -n 5)" ""
else
    fail "mandoc" "mandoc is not installed"
fi

# --- completion -----------------------------------------------------------------------------------

# shellcheck source=../../packaging/completion/nmtwatch.bash
. "$under/share/bash-completion/completions/nmtwatch"
offers() { # WORD...: the command line; the last one is being typed
    COMP_WORDS=("$under/bin/nmtwatch" "$@")
    COMP_CWORD=$#
    _nmtwatch "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
}
is "completion: every verb" "$(offers "" | tr ' ' '\n')" \
    "$("$NMTWATCH" help | sed -n 's/^  \([a-z]*\) .*/\1/p')"
is "... those that begin so" "$(offers rep)" "replay report repair"
is "... options" "$(offers watch --nmt)" "--nmt-interval --nmt-under-seccomp"
is "... words that an option takes" "$(offers soak --warmup "")" "auto"
is "... also from the usage" "$(offers triage 1 --level "")" "gentle thorough"
is "... files" "$(offers report READ)" "README.md"
is "... folders" "$(offers report x -o script)" "scripts"
is "... what a verb can be told" "$(offers profile 1 sta)" "start status"
is "... findings and pages" "$(offers explain class-ch)" "class-churn"
is "... nothing for a time" "$(offers watch --for "")" ""
is "... nothing for a verb that does not exist" "$(offers nosuch --)" ""

# --- dist, sbom, the package's own files ----------------------------------------------------------

scripts/package/dist.sh "$SCRATCH/one" >"$SCRATCH/sum1" 2>/dev/null
sleep 1.1
(umask 077 && scripts/package/dist.sh "$SCRATCH/two" >"$SCRATCH/sum2" 2>/dev/null)
check "the sources in a tarball" [ -s "$SCRATCH/one/nmtwatch-$(<VERSION).tar.gz" ]
is "two of them are the same" "$(cut -d ' ' -f 1 "$SCRATCH/sum1")" "$(cut -d ' ' -f 1 "$SCRATCH/sum2")"
name=nmtwatch-$(<VERSION)
tar -tzf "$SCRATCH/one/$name.tar.gz" >"$SCRATCH/names"
check "and hold the sources" grep -qx "$name/nmtwatch/main.c" "$SCRATCH/names"
is "and nothing that was built" "$(grep -E "^$name/build/|\.o$" "$SCRATCH/names" | head -n 3)" ""
if command -v jq >/dev/null && command -v dpkg-query >/dev/null; then
    scripts/package/sbom.sh "$NMTWATCH" >"$SCRATCH/sbom.json"
    is "the bill of materials: each library that is linked in, with its version" \
        "$(jq -r '.components[] | select(.properties[0].value? == "static") |
            select(.version and .purl and .licenses) | .name' "$SCRATCH/sbom.json" | paste -sd ' ')" \
        "libjansson libz libinih libncursesw libtinfo"
    is "... and the sum of this program" \
        "$(jq -r '.components[] | select(.name == "nmtwatch").hashes[0].content' "$SCRATCH/sbom.json")" \
        "$(sha256sum "$NMTWATCH" | cut -d ' ' -f 1)"
else
    fail "the bill of materials" "no jq or no dpkg"
fi
is "the package is of this version" "$(head -n 1 packaging/debian/changelog | sed 's/.*(\(.*\)).*/\1/')" \
    "$(<VERSION)"
check "make uninstall" make -s BUILD="$build" DESTDIR="$root" PREFIX=/opt/nmt uninstall
is "and only the configuration is left" "$(find "$root" -type f)" "$under/etc/nmtwatch/serve.ini"

done_testing
