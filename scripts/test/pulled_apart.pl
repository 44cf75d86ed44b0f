#!/usr/bin/perl
# pulled_apart: places where clang-format broke a line only because a comment stands behind the code.
# usage: pulled_apart.pl FILE...     prints each of them; exit 1 when there is one
use strict;
use warnings;

my ($before, $found) = ("", 0);
while (<>) {
    chomp;
    if (my ($indent, $code) = m{^(\s+)([^\s/*#].*?|\*+\w.*?)\s*/\*}) {
        (my $head = $before) =~ s/\s+$//;
        my $declares = $head =~ m{^\s+(?:(?:const|struct|enum|unsigned|_Atomic) )*\w+(?: \w+)?$} &&
            $head !~ m{\b(?:else|do|return)$} && $code =~ m{^\**(?:\w+)?(?:\[\w+\])?;$};
        my $loops = $head =~ m{for \([^)]*;$} && $code =~ m{\)(?: \{)?$};
        my $calls = $head =~ m{^\s+\w+\([^()]*,$} && $code =~ m{^[^()]+\);$};
        my $width = length($head) + length($code) + ($code =~ /^\[/ || $head =~ /\*$/ ? 0 : 1);
        print "$ARGV:$.: the comment pulls this line apart: $code\n" and $found = 1
            if ($declares || $loops || $calls) && $width <= 100;
    }
    # In a macro the formatter moves the backslash behind the comment, and the comment's end below it.
    print "$ARGV:$.: the comment of a macro does not end in its line\n" and $found = 1
        if m{\S.*/\*(?!.*\*/).*\\$};
    $before = $_;
} continue {
    close ARGV if eof;
}
exit $found;
