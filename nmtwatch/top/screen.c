#define NCURSES_WIDECHAR 1
#include "nmtwatch/top/screen.h"

#include "analyzers/model/texts.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* Names of capabilities that term.h makes macros of. */
#undef columns
#undef lines

/* In reach: a click further away from the last one is not its second half. */
#define TWICE_MS 400

static struct {
    bool open, utf8, colour;
    SCREEN *terminal;
    int cursor_row, cursor_column;
    struct {
        int row;
        int64_t ms;
    } click;
} screen;

/* --- life ------------------------------------------------------------------------------------- */

/* Where the system describes no terminals. False: it is not one of ours. */
static bool built_in(const char *name)
{
    static const char *const TERMINALS[][2] = {
#define TERMINAL(name, description) {#name, description},
#include "nmtwatch/top/terminals.def"
#undef TERMINAL
    };
    int error = 0;
    for (size_t i = 0; i < sizeof TERMINALS / sizeof *TERMINALS; i++)
        if (strcmp(TERMINALS[i][0], name) == 0)
            return setenv("TERMINFO", TERMINALS[i][1], 1) == 0 &&
                   setupterm(name, STDOUT_FILENO, &error) == OK;
    return false;
}

/* The name under which the system describes this terminal; NULL: it does not. Terminal emulators that are
 * newer than the system understand xterm; inside of tmux and screen it is their own sequences. */
static const char *terminal_name(void)
{
    static const struct {
        const char *prefix, *instead;
    } ALIKE[] = {
        {"tmux", "screen"},   {"screen", "screen"}, {"xterm", "xterm"},   {"alacritty", "xterm"},
        {"foot", "xterm"},    {"kitty", "xterm"},   {"wezterm", "xterm"}, {"ghostty", "xterm"},
        {"konsole", "xterm"}, {"vte", "xterm"},     {"gnome", "xterm"},   {"contour", "xterm"},
    };
    int error = 0;
    const char *name = getenv("TERM");
    if (name == NULL || name[0] == '\0')
        return NULL;
    if (setupterm(name, STDOUT_FILENO, &error) == OK)
        return name;
    for (size_t i = 0; i < sizeof ALIKE / sizeof *ALIKE; i++)
        if (strncmp(name, ALIKE[i].prefix, strlen(ALIKE[i].prefix)) == 0 &&
            (setupterm(ALIKE[i].instead, STDOUT_FILENO, &error) == OK ||
             built_in(ALIKE[i].instead)))
            return ALIKE[i].instead;
    return NULL;
}

bool screen_usable(char *why, size_t size)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return text_error(why, size, "standard input and output are no terminal");
    if (terminal_name() == NULL)
        return text_error(why, size, "unknown terminal '%.40s' (TERM)", name != NULL ? name : "");
    const char *move = tigetstr("cup");
    bool good = move != NULL && move != (char *)-1;
    del_curterm(cur_term);
    if (!good)
        snprintf(why, size, "the terminal '%.40s' (TERM) cannot move its cursor", name);
    return good;
}

/* Where the requested locale is not installed (a container), C.UTF-8 shows the same
 * characters. */
static bool choose_locale(void)
{
    const char *wanted = getenv("LC_ALL");
    if (wanted == NULL || wanted[0] == '\0')
        wanted = getenv("LC_CTYPE");
    if (wanted == NULL || wanted[0] == '\0')
        wanted = getenv("LANG");
    if (setlocale(LC_CTYPE, "") == NULL && wanted != NULL &&
        (strcasestr(wanted, "utf-8") != NULL || strcasestr(wanted, "utf8") != NULL))
        setlocale(LC_CTYPE, "C.UTF-8");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool screen_open(bool colour, char *why, size_t size)
{
    screen.utf8 = choose_locale();
    const char *name = terminal_name();
    if (name != NULL)
        del_curterm(cur_term);
    screen.terminal = newterm(name, stdout, stdin);
    if (screen.terminal == NULL)
        return text_error(why, size, "the terminal cannot be used");
    screen.open = true;
    screen.cursor_row = -1;
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
    screen.colour = colour && has_colors();
    if (screen.colour) {
        start_color();
        short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
        init_pair(SCREEN_RED, COLOR_RED, background);
        init_pair(SCREEN_YELLOW, COLOR_YELLOW, background);
        init_pair(SCREEN_GREEN, COLOR_GREEN, background);
        init_pair(SCREEN_BAR, COLOR_BLACK, COLOR_CYAN);
    }
    return true;
}

void screen_close(void)
{
    if (!screen.open)
        return;
    endwin();
    delscreen(screen.terminal);
    screen.open = false;
}

bool screen_is_utf8(void)
{
    return screen.utf8;
}

int screen_rows(void)
{
    return LINES;
}

int screen_columns(void)
{
    return COLS;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static attr_t attributes(enum screen_style style)
{
    static const attr_t PLAIN[SCREEN_STYLES] = {
        [SCREEN_BOLD] = A_BOLD,
        [SCREEN_DIM] = A_DIM,
        [SCREEN_RED] = A_BOLD,
        [SCREEN_YELLOW] = A_BOLD,
        [SCREEN_GREEN] = A_NORMAL,
        [SCREEN_BAR] = A_REVERSE,
        [SCREEN_SORTED] = A_BOLD | A_UNDERLINE,
        [SCREEN_SELECTED] = A_REVERSE,
    };
    bool coloured = style >= SCREEN_RED && style <= SCREEN_BAR;
    if (!screen.colour || !coloured)
        return PLAIN[style];
    return COLOR_PAIR(style) | (style == SCREEN_RED ? A_BOLD : A_NORMAL);
}

/* The next character of UTF-8 that is whole and harmless (escape.h), as it can be shown here. */
static wchar_t next_character(const char **at, int *columns)
{
    const unsigned char *byte = (const unsigned char *)*at;
    wchar_t code = byte[0];
    int more = byte[0] >= 0xf0 ? 3 : byte[0] >= 0xe0 ? 2 : byte[0] >= 0xc0 ? 1 : 0;
    if (more > 0)
        code = byte[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++)
        code = (wchar_t)(code << 6 | (byte[i] & 0x3f));
    *at += 1 + more;
    *columns = 1;
    if (code < 0x80)
        return code;
    *columns = screen.utf8 ? wcwidth(code) : 1;
    if (*columns >= 0 && screen.utf8)
        return code;
    *columns = 1;
    return '?';
}

/* At most `count` cells of it; returns how many were filled. */
static int put_characters(int row, int column, int width, attr_t how, const char *safe)
{
    wchar_t shown[1024];
    int used = 0;
    size_t count = 0, last = 0;
    bool cut = false;
    while (*safe != '\0' && count + 2 < sizeof shown / sizeof *shown && !cut) {
        int columns;
        wchar_t one = next_character(&safe, &columns);
        cut = used + columns > width;
        if (cut)
            break;
        if (columns > 0)
            last = count;
        shown[count++] = one;
        used += columns;
    }
    if (cut && count > 0) {
        int columns = screen.utf8 ? wcwidth(shown[last]) : 1;
        count = last;
        used -= columns;
        shown[count++] = '~';
        used++;
    }
    shown[count] = L'\0';
    attrset(how);
    if (screen.utf8)
        mvaddnwstr(row, column, shown, (int)count);
    else
        for (size_t i = 0; i < count; i++)
            mvaddch(row, column + (int)i, (chtype)shown[i]);
    return used;
}

void screen_begin(void)
{
    erase();
    screen.cursor_row = -1;
}

static int columns_of(const char *safe)
{
    int sum = 0, columns;
    while (*safe != '\0') {
        next_character(&safe, &columns);
        sum += columns;
    }
    return sum;
}

void screen_put(int row, int column, int width, bool right, enum screen_style style,
                const char *text)
{
    char safe[4096];
    if (row < 0 || row >= LINES || column >= COLS || width <= 0)
        return;
    width = width > COLS - column ? COLS - column : width;
    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    int wanted = columns_of(safe);
    attr_t how = attributes(style);
    attrset(how);
    mvhline(row, column, ' ' | how, width);
    put_characters(row, right && wanted < width ? column + width - wanted : column, width, how,
                   safe);
    attrset(A_NORMAL);
}

void screen_put_painted(int row, int width, int skip, const char *line)
{
    /* Our own sequences and no others: everything else that is no text is escaped. */
    static const struct {
        const char *sequence;
        enum screen_style style;
    } PAINTS[] = {
        {"\033[0m", SCREEN_PLAIN},  {"\033[1m", SCREEN_BOLD},      {"\033[2m", SCREEN_DIM},
        {"\033[1;31m", SCREEN_RED}, {"\033[1;33m", SCREEN_YELLOW}, {"\033[1;32m", SCREEN_GREEN},
    };
    enum screen_style style = SCREEN_PLAIN;
    int column = 0;
    while (*line != '\0' && column < width && row >= 0 && row < LINES) {
        size_t i = 0;
        while (i < sizeof PAINTS / sizeof *PAINTS &&
               strncmp(line, PAINTS[i].sequence, strlen(PAINTS[i].sequence)) != 0)
            i++;
        if (i < sizeof PAINTS / sizeof *PAINTS) {
            style = PAINTS[i].style;
            line += strlen(PAINTS[i].sequence);
            continue;
        }
        size_t length = 1 + strcspn(line + 1, "\033");
        char part[1024], safe[4096];
        snprintf(part, sizeof part, "%.*s", (int)(length < 1000 ? length : 1000), line);
        escape(ESCAPE_TERMINAL, part, safe, sizeof safe);
        const char *at = safe;
        for (int ignored; skip > 0 && *at != '\0'; skip--)
            next_character(&at, &ignored);
        column += put_characters(row, column, width - column, attributes(style), at);
        line += length;
    }
    attrset(A_NORMAL);
}

void screen_cursor(int row, int column)
{
    screen.cursor_row = row;
    screen.cursor_column = column;
}

void screen_end(void)
{
    curs_set(screen.cursor_row >= 0);
    if (screen.cursor_row >= 0)
        move(screen.cursor_row, screen.cursor_column);
    refresh();
}

/* --- input ------------------------------------------------------------------------------------ */

/* One key may stand for several events that came together. */
static int of_mouse(struct screen_input *input)
{
    MEVENT event;
    struct timespec now;
    int key = SCREEN_NONE;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    while (getmouse(&event) == OK) {
        if (event.bstate & BUTTON4_PRESSED)
            return SCREEN_UP;
        if (event.bstate & BUTTON5_PRESSED)
            return SCREEN_DOWN;
        bool twice = event.y == screen.click.row && ms - screen.click.ms < TWICE_MS;
        screen.click.row = twice ? -1 : event.y;
        screen.click.ms = ms;
        input->row = event.y;
        input->column = event.x;
        key = twice ? SCREEN_CLICK_TWICE : SCREEN_CLICK;
    }
    return key;
}

static bool is_hung_up(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool screen_read(struct screen_input *input)
{
    static const struct {
        wint_t curses;
        int key;
    } KEYS[] = {
        {KEY_UP, SCREEN_UP},         {KEY_DOWN, SCREEN_DOWN},
        {KEY_LEFT, SCREEN_LEFT},     {KEY_RIGHT, SCREEN_RIGHT},
        {KEY_PPAGE, SCREEN_PAGE_UP}, {KEY_NPAGE, SCREEN_PAGE_DOWN},
        {KEY_HOME, SCREEN_HOME},     {KEY_END, SCREEN_END},
        {KEY_ENTER, SCREEN_ENTER},   {KEY_BACKSPACE, SCREEN_BACKSPACE},
        {KEY_F(1), SCREEN_HELP},     {KEY_RESIZE, SCREEN_RESIZE},
    };
    wint_t got = 0;
    *input = (struct screen_input){0};
    int kind = get_wch(&got);
    if (kind == ERR) {
        input->key = SCREEN_GONE;
        return is_hung_up();
    }
    if (kind == KEY_CODE_YES) {
        for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
            if (KEYS[i].curses == got)
                input->key = KEYS[i].key;
        if (got == KEY_MOUSE)
            input->key = of_mouse(input);
        return true;
    }
    input->key = got == '\r' ? SCREEN_ENTER : got == 127 || got == 8 ? SCREEN_BACKSPACE : (int)got;
    return true;
}
