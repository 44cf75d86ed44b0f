/* A JVM that came under the name of somebody else's: told by a note, so that a replay tells it,
 * too. */
#include "analyzers/judge/judge_internal.h"
#include "analyzers/judge/name_owner.h"

#include <stdio.h>

#define PREFIX "name of another owner: "

void name_owner_note(char *out, size_t size, const struct name_owner *owner)
{
    snprintf(out, size,
             PREFIX "'%.96s' is a name of %.100s; this JVM, of %.100s, is watched as '%.96s'",
             owner->name, owner->owner, owner->newcomer, owner->label);
}

void judge_note(struct judge *judge, const char *text)
{
    struct finding finding;
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0 ||
        judge_episode(judge, FINDING_NAME_OWNER, "") != NULL)
        return;
    finding_init(&finding, &judge->texts, FINDING_NAME_OWNER);
    finding_title(&finding, "a JVM came under the name of another owner's: %.340s",
                  text + strlen(PREFIX));
    judge_raise(judge, &finding, "", judge->now_ms);
}
