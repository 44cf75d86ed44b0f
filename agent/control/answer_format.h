/*
 * answer_format: what an answer of the agent looks like in its file; the asker reads it by the same
 * lines (nmtwatch/profile).
 *
 *   nmtagent 1 done 512\n          or  nmtagent 1 refused 44\n
 *   <512 bytes: one JSON object>       <44 bytes: one sentence>
 *
 * The length comes first, so that half an answer (a full disk) is never taken for a whole one.
 */
#ifndef AGENT_CONTROL_ANSWER_FORMAT_H
#define AGENT_CONTROL_ANSWER_FORMAT_H

#define ANSWER_MAGIC    "nmtagent 1 "
#define ANSWER_DONE     "done"
#define ANSWER_REFUSED  "refused"
#define ANSWER_HEAD_MAX 64

/* A refusal that names the library to ask in its place. */
#define ANSWER_OTHER_COPY "another copy of the agent is at work in this JVM: "

#endif
