# shellcheck shell=bash
# pairs: what measurements in pairs, with and without, have in common. Source it.
#
# The interval is that of the sign test: the median ratio lies in it with 95 % whatever the noise looks
# like; it takes six pairs to have one.

# The first two processors we may use.
processors() {
    awk '/^Cpus_allowed_list:/ {
        n = split($2, range, ",")
        for (i = 1; i <= n; i++) {
            split(range[i], end, "-")
            for (at = end[1]; at <= (end[2] == "" ? end[1] : end[2]); at++) print at
        }
    }' /proc/self/status | head -n 2
}

# Of the lines "NAME BASE WITH" of a file: pairs, medians of base, with and ratio, the
# interval of the ratio, the verdict.
statistics() { # FILE NAME GOAL
    awk -v name="$2" -v goal="$3" '
        function sort(v, n,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = v[i]
                for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]
                v[j + 1] = x
            }
        }
        function median(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
        $1 == name { n++; base[n] = $2; agent[n] = $3; ratio[n] = $3 / $2 }
        END {
            sort(base, n); sort(agent, n); sort(ratio, n)
            # The k-th smallest and largest, as far inside as 2.5 % of a fair coin on each side allow.
            term = tail = 1 / 2 ^ n
            for (k = 0; tail <= 0.025; k++) {
                term = term * (n - k) / (k + 1)
                tail += term
            }
            verdict = "cannot tell"
            if (k > 0) {
                low = ratio[k]; high = ratio[n + 1 - k]
                if (high <= goal) verdict = "met"
                if (low > goal) verdict = "NOT MET"
            }
            printf "%d %.3f %.3f %.4f %s %s %s\n", n, median(base, n), median(agent, n),
                median(ratio, n), k ? sprintf("%.4f", low) : "null",
                k ? sprintf("%.4f", high) : "null", verdict
        }' "$1"
}
