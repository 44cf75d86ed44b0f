# shellcheck shell=bash
# Bash completion of nmtwatch. Verbs and options are those that `nmtwatch help` prints at the moment,
# so that this file knows none of them; process ids are those of `nmtwatch list`. No JVM is asked.

_nmtwatch_verbs() { # PROGRAM
    "$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
}

# The names of all options, or of one the word for its value; nothing for a flag.
_nmtwatch_options() { # HELP [NAME]
    awk -v wanted="${2-}" '
        /^Options:/ { options = 1; next }
        !options || !/^  (-|    --)/ { next }
        {
            sub(/^ +/, "")
            sub(/  .*/, "")
            count = split($0, words, " ")
            for (i = 1; i <= count; i++) {
                sub(/,$/, words[i])
                if (wanted == "" && words[i] ~ /^-/) print words[i]
                if (wanted != "" && words[i] == wanted && words[count] !~ /^-/) print words[count]
            }
        }' <<<"$1"
}

_nmtwatch() {
    local program=${1/#\~/$HOME} word=$2 before=$3 help usage value
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_nmtwatch_verbs "$program")" -- "$word")
        return
    fi
    if [ "${COMP_WORDS[1]}" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_nmtwatch_verbs "$program")" -- "$word")
        return
    fi
    help=$("$program" help "${COMP_WORDS[1]}" 2>/dev/null) || return 0
    usage=${help%%Options:*}

    if [[ $before == -?* ]]; then
        value=$(_nmtwatch_options "$help" "$before")
        if [[ $usage =~ $before\ ([a-z]+\|[a-z|]+) ]]; then # --level gentle|thorough
            value=${BASH_REMATCH[1]}
        fi
        case $value in
        '') ;; # a flag: go on
        *DIR*)
            mapfile -t COMPREPLY < <(compgen -d -- "$word")
            return
            ;;
        *FILE*)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        *[[:lower:]]*)
            # Of TIME|auto it is auto that can be offered.
            value=$(tr '|' '\n' <<<"$value" | grep -v '[[:upper:]]')
            mapfile -t COMPREPLY < <(compgen -W "$value" -- "$word")
            return
            ;;
        *) return 0 ;; # a time, a number: nothing to offer
        esac
    fi
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_nmtwatch_options "$help")" -- "$word")
        return
    fi

    if [ "${COMP_WORDS[1]}" = explain ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$("$program" explain 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort -u)" -- "$word")
        return
    fi

    # Operands: what the usage calls them.
    value=
    if [[ $usage == *PID* ]]; then
        value=$("$program" list 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')
        value+=" $(sed -n 's/.* PID \([a-z]\{2,\}[a-z|]*\).*/\1/p' <<<"$usage" | tr '|' ' ')"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$value" -- "$word")
    if [[ $usage == *FILE* || $usage == *DIR* ]]; then
        local files
        mapfile -t files < <(compgen -f -- "$word")
        COMPREPLY+=("${files[@]}")
    fi
}
complete -F _nmtwatch -o filenames nmtwatch
