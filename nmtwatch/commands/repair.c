/* nmtwatch repair: cuts what a killed JVM left behind the last complete chunk of a JFR file. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "reports/text/units.h"

static void print_json(const char *path, int64_t cut_bytes)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "file", path);
    json_out_int(&out, "cut_bytes", cut_bytes);
    json_out_end(&out, '}');
    json_out_print(&out, stdout);
}

static int run(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {OPTION_JSON(&json)};
    int operands, code;
    if (!options_parse(&command_repair, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_repair, "one JFR file is needed");
    int64_t cut_bytes;
    char error[512];
    if (!jfr_repair(argv[1], &cut_bytes, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch repair: %s\n", error);
    if (json)
        print_json(argv[1], cut_bytes);
    else if (cut_bytes > 0)
        printf("%s: cut %s behind the last complete chunk\n", argv[1], units_bytes(cut_bytes).text);
    else
        printf("%s: whole\n", argv[1]);
    return 0;
}

const struct command command_repair = {
    .name = "repair",
    .usage = "Usage: nmtwatch repair FILE.jfr\n"
             "\n"
             "A JVM that is killed while a chunk is appended leaves a file that the JDK's jfr\n"
             "refuses as a whole. Removes what stands behind the last complete chunk.\n"
             "FILE.jfr.chunk beside it is an unfinished chunk without constant pools: it\n"
             "cannot be read and can be deleted.\n"
             "\n"
             "Exit: 0 the file is whole now, 64 usage, 74 no complete chunk, or not writable.\n",
    .run = run,
};
