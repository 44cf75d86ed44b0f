#!/usr/bin/perl
# commands_used: which programs shell scripts call. A scan by the words of the shell, no parser of all
# of it: quotes, substitutions, here-documents, comments, `case` patterns and functions are understood.
#
# usage: commands_used.pl SCRIPT...      prints COMMAND<tab>FILE:LINE, one for each place
#
# Left out: what is written with a path or a variable, builtins, functions of any of the scripts, and
# words that begin with _ (functions of completions).
use strict;
use warnings;

# Words that are followed by a command, and how many words of their own stand before it.
my %prefix = (
    (map { $_ => 0 } qw(if then else elif while until do ! time { exec command builtin nice nohup setsid
        env sudo xargs unshare chroot spawn eval trap flock stdbuf strace)),
    timeout => 1, check => 1, wait_for => 1, exits => 2, taskset => 2,
);
my %ignored = map { $_ => 1 } qw(for case select function fi done esac } ]] in coproc),
    split(' ', `bash -c 'compgen -b; compgen -k'`);
# Options of those words that take a value.
my %valued = map { $_ => 1 } qw(-u -n -k -s -I -P -L -e --signal --kill-after -c);
my (%functions, @calls);

sub scan { # FILE TEXT LINE: commands of TEXT
    my ($file, $text, $line) = @_;
    my ($expect, $skip, $word, $last, $quoted, $command, @here) = (1, 0, '', '', 0, '');
    my ($awaits_in, $pattern) = (0, 0); # after `case`; where a pattern stands
    my $flush = sub {
        return if $word eq '' && !$quoted;
        my $w = $word;
        my $was_quoted = $quoted;
        ($word, $quoted) = ('', 0);
        if ($pattern) {
            ($pattern, $expect) = (0, 0) if $w eq 'esac';
            return;
        }
        $functions{$w} = 1 if $last eq 'function';
        if ($expect) {
            if ($skip > 0) {
                $skip-- unless $w =~ /^-/ || $last =~ /^-/ && $valued{$last};
            } elsif ($was_quoted) {
                $expect = 0;
            } elsif ($w =~ /^\w+(\[[^]]*\])?\+?=/ || $w =~ /^[<>&0-9]+/) {
                # an assignment or a redirection: the command comes after
            } elsif ($w =~ /^-/ ) {
                $last = $w; # an option of a prefix
                return;
            } elsif ($last =~ /^-/ && $valued{$last}) {
                # its value
            } elsif ($w eq 'case') {
                ($expect, $awaits_in) = (0, 1);
            } elsif (exists $prefix{$w}) {
                push @calls, [$w, $file, $line] unless $ignored{$w};
                $skip = $prefix{$w};
            } else {
                push @calls, [$w, $file, $line]
                    if !$ignored{$w} && $w =~ /^[a-zA-Z][\w.+-]*$/;
                ($expect, $command) = (0, $w);
            }
        }
        ($awaits_in, $pattern) = (0, 1) if $w eq 'in' && $awaits_in;
        $last = $w;
    };
    pos($text) = 0;
    while (pos($text) < length $text) {
        if ($text =~ /\G\\\n/gc) { $line++ }
        elsif ($text =~ /\G\\(.)/gcs) { $word .= $1; $line++ if $1 eq "\n" }
        elsif ($word eq '' && !$quoted && $text =~ /\G#[^\n]*/gc) { }
        elsif ($text =~ /\G'([^']*)'/gc) {
            my $inner = $1;
            scan($file, $inner, $line) if $last eq '-c' && $command =~ /^(ba|da)?sh$/;
            $line += ($inner =~ tr/\n//);
            $quoted = 1;
        }
        elsif ($text =~ /\G\$'(?:[^'\\]|\\.)*'/gcs) { $quoted = 1 }
        elsif ($text =~ /\G"/gc) {
            $quoted = 1;
            my $begin = $line;
            my $inner = '';
            until ($text =~ /\G"/gc || pos($text) >= length $text) {
                if ($text =~ /\G\\(.)/gcs) { $line++ if $1 eq "\n"; $inner .= $1 }
                elsif ($text =~ /\G\$\(\(/gc) { $line += skip_arithmetic(\$text) }
                elsif ($text =~ /\G\$\(/gc) { $line = substitution($file, \$text, $line); $inner .= 'x' }
                elsif ($text =~ /\G(.)/gcs) { $line++ if $1 eq "\n"; $inner .= $1 }
            }
            scan($file, $inner, $begin) if $last =~ /^(eval|trap)$/ || $last eq '-c' && $command =~ /^(ba|da)?sh$/;
        }
        elsif ($text =~ /\G\$\(\(/gc || ($word eq '' && $text =~ /\G\(\(/gc)) {
            $line += skip_arithmetic(\$text);
            $word .= '$';
        }
        elsif ($text =~ /\G(?:\$|<|>)\(/gc) { $line = substitution($file, \$text, $line); $word .= '$' }
        elsif ($text =~ /\G\$\{/gc) { $line = parameter($file, \$text, $line); $word .= '$' }
        elsif ($text =~ /\G\[\[.*?\]\]/gcs) { $line += ($& =~ tr/\n//); $expect = 0 }
        elsif ($text =~ /\G\w+\+?=\(/gc) { # an array: words, and substitutions in them
            my $begin = pos $text;
            my $level = 1;
            while ($level && pos($text) < length $text) {
                if ($text =~ /\G\$\(/gc) { $line = substitution($file, \$text, $line) }
                elsif ($text =~ /\G'[^']*'/gc) { $line += ($& =~ tr/\n//) }
                elsif ($text =~ /\G"/gc) { $line += (quoted(\$text) =~ tr/\n//) }
                elsif ($text =~ /\G#[^\n]*/gc) { }
                elsif ($text =~ /\G(.)/gcs) { $line++ if $1 eq "\n"; $level++ if $1 eq '('; $level-- if $1 eq ')' }
            }
        }
        elsif ($text =~ /\G<<(-?)\s*(['"\\]?)(\w+)['"]?/gc) { push @here, [$1, $2, $3] }
        elsif ($text =~ /\G<<</gc) { }
        elsif ($text =~ /\G(?:\d*[<>]&?-?|&>>?|\d*>>|<>)\s*/gc) {
            my $w = $word;
            $flush->();
            # what follows is a file
            $text =~ /\G(?:&?\d+|"(?:[^"\\]|\\.)*"|[^\s;|&()]+)/gc;
        }
        elsif ($text =~ /\G\n/gc) {
            $flush->();
            ($expect, $skip, $last) = (1, 0, '');
            $line++;
            for my $here (splice @here) {
                my ($dash, $quote, $end) = @$here;
                my $body = '';
                while ($text =~ /\G([^\n]*)(\n|\z)/gc) {
                    my $row = $1;
                    $line++;
                    $row =~ s/^\t+// if $dash;
                    last if $row eq $end || pos($text) >= length $text;
                    $body .= "$row\n";
                }
                if ($quote eq '') {
                    pos($body) = 0;
                    while ($body =~ /\G.*?\$\(/gcs) { substitution($file, \$body, $line) }
                }
            }
        }
        elsif ($text =~ /\G\(\s*\)/gc) { $functions{$word} = 1; $word = ''; $expect = 1; $last = '' }
        elsif ($text =~ /\G(;;&?|;&)/gc) { $flush->(); ($expect, $skip, $last) = (0, 0, ''); $pattern = 1 }
        elsif ($text =~ /\G\)/gc) {
            if ($pattern) { ($word, $quoted, $pattern) = ('', 0, 0) } else { $flush->() }
            ($expect, $skip, $last) = (1, 0, '');
        }
        elsif ($text =~ /\G(\|\||&&|\|&?|;|&|\()/gc) {
            if ($pattern) { ($word, $quoted) = ('', 0); next }
            $flush->();
            ($expect, $skip, $last) = (1, 0, '');
        }
        elsif ($text =~ /\G[ \t]+/gc) { $flush->() }
        elsif ($text =~ /\G(.)/gcs) { $word .= $1 }
    }
    $flush->();
}

sub skip_arithmetic { # past "))"
    my ($text) = @_;
    my ($level, $lines) = (2, 0);
    while ($level && $$text =~ /\G(.)/gcs) {
        $level++ if $1 eq '(';
        $level-- if $1 eq ')';
        $lines++ if $1 eq "\n";
    }
    return $lines;
}

sub parameter { # past "}" of ${...}
    my ($file, $text, $line) = @_;
    my $level = 1;
    while ($level && pos($$text) < length $$text) {
        if ($$text =~ /\G\\./gcs) { }
        elsif ($$text =~ /\G\$\(/gc) { $line = substitution($file, $text, $line) }
        elsif ($$text =~ /\G\$?\{/gc) { $level++ }
        elsif ($$text =~ /\G\}/gc) { $level-- }
        elsif ($$text =~ /\G(.)/gcs) { $line++ if $1 eq "\n" }
    }
    return $line;
}

sub substitution { # the text up to the matching ")", scanned; returns the line after it
    my ($file, $text, $line) = @_;
    my ($level, $inner, $begin, $case) = (1, '', $line, 0);
    while (pos($$text) < length $$text) {
        if ($$text =~ /\G(\\.)/gcs) { $inner .= $1; $line++ if $1 eq "\\\n" }
        elsif ($$text =~ /\G('[^']*')/gc) { $inner .= $1; $line += ($1 =~ tr/\n//) }
        elsif ($$text =~ /\G(\s#[^\n]*)/gc) { $inner .= $1; $line += ($1 =~ tr/\n//) }
        elsif ($$text =~ /\G"/gc) {
            my $string = quoted($text);
            $inner .= qq("$string");
            $line += ($string =~ tr/\n//);
        }
        elsif ($$text =~ /\G\(/gc) { $level++; $inner .= '(' }
        elsif ($$text =~ /\G\)/gc) { last unless --$level; $inner .= ')' }
        elsif ($$text =~ /\G(.)/gcs) { $inner .= $1; $line++ if $1 eq "\n" }
    }
    scan($file, $inner, $begin);
    return $line;
}

sub quoted { # the rest of a "..." string, substitutions whole
    my ($text) = @_;
    my ($string, $level) = ('', 0);
    while (pos($$text) < length $$text) {
        if ($$text =~ /\G(\\.)/gcs) { $string .= $1 }
        elsif ($$text =~ /\G\$\(/gc) { $level++; $string .= '$(' }
        elsif ($level && $$text =~ /\G('[^']*')/gc) { $string .= $1 }
        elsif ($level && $$text =~ /\G"/gc) { $string .= '"' . quoted($text) . '"' }
        elsif ($level && $$text =~ /\G\(/gc) { $level++; $string .= '(' }
        elsif ($level && $$text =~ /\G\)/gc) { $level--; $string .= ')' }
        elsif ($$text =~ /\G"/gc) { return $string }
        elsif ($$text =~ /\G(.)/gcs) { $string .= $1 }
    }
    return $string;
}

for my $file (@ARGV) {
    open my $in, '<', $file or die "commands_used: $file: $!\n";
    local $/;
    scan($file, scalar <$in>, 1);
}
print "$_->[0]\t$_->[1]:$_->[2]\n" for grep { !$functions{$_->[0]} } @calls;
