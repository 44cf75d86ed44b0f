#!/usr/bin/perl
# cut_tables: rows of Markdown tables that render as text, because they have no head above them (an empty line cuts a
# table), and paragraphs that begin with a blank.
# usage: cut_tables.pl FILE...     prints each place; exit 1 when there is one
use strict;
use warnings;

my $found = 0;
for my $file (@ARGV) {
    open my $page, "<", $file or die "$file: $!\n";
    my ($fenced, $before, $number) = (0, "", 0);
    my @rows; # of the table that is being read
    my @lines = (<$page>, "");
    chomp @lines;
    for my $line (@lines) {
        $number++;
        if (@rows && $line !~ /^\|/) {
            if (@rows < 2 || $rows[1] !~ /^\|[-:| ]+\|$/) {
                print "$file:" . ($number - @rows) . ": a row without a head: " . substr($rows[0], 0, 60) . "\n";
                $found = 1;
            }
            @rows = ();
        }
        $fenced = !$fenced if $line =~ /^```/;
        push @rows, $line if !$fenced && $line =~ /^\|/;
        if (!$fenced && $before eq "" && $line =~ /^ \S/) {
            print "$file:$number: begins with a blank: " . substr($line, 0, 60) . "\n";
            $found = 1;
        }
        $before = $line;
    }
    close $page;
}
exit $found;
