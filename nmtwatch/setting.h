/*
 * setting: what a row of watch_options.def or serve_options.def says to people: the same text
 * becomes an option of the command line, a key of the configuration, a line of help and of the man
 * page.
 */
#ifndef NMTWATCH_SETTING_H
#define NMTWATCH_SETTING_H

#define SETTING_HELP_MAX 200

struct setting {
    const char *key;     /* "nmt_interval" in a file, --nmt-interval on the command line */
    const char *value;   /* what help calls the value, "TIME"; NULL: a flag */
    const char *initial; /* "": nothing */
    const char *help;
};

#endif
