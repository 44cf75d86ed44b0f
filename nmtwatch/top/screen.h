/* screen: the terminal as a grid of cells, by ncurses; nothing else of nmtwatch knows of it.
 *
 *   screen_usable -> screen_open -> (screen_begin -> screen_put ... -> screen_end | screen_read) ...
 *   -> screen_close
 *
 * Texts are UTF-8 of any origin: they are escaped here, cut to their width, and wide characters
 * take two cells. In a locale that is not UTF-8 what is not ASCII becomes '?'. One per process; one
 * thread. A signal handler must not call it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_BOLD,
    SCREEN_DIM,
    SCREEN_RED,
    SCREEN_YELLOW,
    SCREEN_GREEN,
    SCREEN_BAR,      /* heads and the line of keys */
    SCREEN_SORTED,   /* the head of the column that is sorted by */
    SCREEN_SELECTED, /* the row of the cursor; also where there are no colours */
    SCREEN_STYLES
};

/* A terminal whose cursor can be moved, on both ends. False with why. */
bool screen_usable(char *why, size_t size);
/* False with why. */
bool screen_open(bool colour, char *why, size_t size);
void screen_close(void);
bool screen_is_utf8(void);
int screen_rows(void);
int screen_columns(void);

void screen_begin(void);
/* Fills `width` cells: cut with a '~', or padded. Outside of the grid nothing happens. */
void screen_put(int row, int column, int width, bool right, enum screen_style style,
                const char *text);
/* A line with the sequences of terminal_paint in it (reports/page/terminal.h), from its `skip`th
 * character on. */
void screen_put_painted(int row, int width, int skip, const char *line);
/* Where a text is being typed; row < 0: nowhere. */
void screen_cursor(int row, int column);
void screen_end(void);

/* A key is a character, or one of these. */
enum screen_key {
    SCREEN_NONE = 0,
    SCREEN_ESCAPE = 27,
    SCREEN_ENTER = '\n',
    SCREEN_UP = 0x200000,
    SCREEN_DOWN,
    SCREEN_LEFT,
    SCREEN_RIGHT,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_BACKSPACE,
    SCREEN_HELP,
    SCREEN_RESIZE,
    SCREEN_CLICK,
    SCREEN_CLICK_TWICE,
    SCREEN_GONE, /* the terminal was closed */
};

struct screen_input {
    int key;
    int row, column; /* of a click */
};
/* What is there already; never waits. False: nothing. */
bool screen_read(struct screen_input *input);
