#!/usr/bin/perl
# plain_words: the forms that CONTRIBUTING.md (Words) forbids, in pages of Markdown and mdoc, in comments and messages.
# usage: plain_words.pl CONTRIBUTING.md FILE...     prints each place with what to write; exit 1 when there is one
use strict;
use warnings;

my $table = shift @ARGV;
my (@forms, $in_words);
open my $rows, "<", $table or die "$table: $!\n";
while (<$rows>) {
    $in_words = /^## Words/ if /^## /;
    next if !$in_words || !/^\| (.+?) \| (.+?) \|$/ || $1 eq "not";
    my $instead = $2;
    # A form may be broken over two lines of a paragraph.
    push @forms, map { [$_, $instead] } split /, /, $1;
}
close $rows;
die "$table: no table of words\n" if !@forms;

my $found = 0;
for my $file (@ARGV) {
    open my $page, "<", $file or die "$file: $!\n";
    local $/;
    my $text = <$page>;
    close $page;
    # The table itself, code, and what is not prose.
    $text =~ s/^## Words.*?(?=^## )/"\n" x ($& =~ tr{\n}{})/emsg if $file eq $table;
    $text =~ s/^```.*?^```$/"\n" x ($& =~ tr{\n}{})/emsg;
    $text =~ s/^    .*$//mg if $file =~ /\.md$/;
    $text =~ s/`[^`\n]*`/``/g;
    for my $form (@forms) {
        my ($words, $instead) = @$form;
        (my $pattern = quotemeta $words) =~ s/\\ /(?:\\s+|\\n \\* )/g;
        while ($text =~ /\b$pattern(?:\b|(?<=:))/gi) {
            my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
            print "$file:$line: \"$words\": write $instead\n";
            $found = 1;
        }
    }
}
exit $found;
