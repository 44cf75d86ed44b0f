/*
 * asgst: stacks of Java threads without jmethodIDs, for profilers. Exported by libnmtagent.so.
 *
 * The API is that of JEP 435 (Asynchronous Stack Trace VM API), which was withdrawn, with ASGST_Method
 * in the place of jmethodID as its author proposed later. It is implemented beside the JVM, by reading
 * HotSpot's own structures (Linux, x86-64 and aarch64, JDK 8 to 27): no JVM has to be changed. Where it differs
 * from the paper: asgst(3).
 *
 * Link with -lnmtagent or open the library; no recording has to run, and it does not matter whether
 * one does, nor how many profilers of a process use these functions.
 *
 *     ASGST_Init             once for each user, in VMInit or later, on a Java thread
 *     AsyncGetStackTrace     in a signal handler: the stack of the thread that was interrupted
 *     ASGST_GetMethodInfo    there and then, or later: names of what was found
 *     ASGST_Register...      to hear of methods that are gone, before their addresses mean others
 *
 * An ASGST_Method is valid while its method is on the stack that was walked, so names that are asked
 * for in the handler are right. Later it is valid until a handler for unloading was called with it.
 * Nothing here crashes for one that is not: every load is guarded. The answer is empty then, or that of
 * the method which lies there now.
 *
 * "Signal safe" below: no lock, no memory, no call into the JVM that waits; errno is kept.
 */
#ifndef NMTWATCH_ASGST_H
#define NMTWATCH_ASGST_H

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct ASGST_Method_s *ASGST_Method;
typedef struct ASGST_Class_s *ASGST_Class;

/* --- begin -------------------------------------------------------------------------------------- */

/* Makes the functions below work in this process. Called again it does nothing. False with a sentence
 * in error (of error_size bytes, NUL included): this JVM cannot be walked, or it is too early. On a Java
 * thread that is no virtual one, in VMInit or later; not signal safe. There is no end: the functions work
 * until the process ends. */
bool ASGST_Init(JavaVM *vm, char *error, size_t error_size);

/* Bits of the later draft's optional parts, queues (1) and frame marks (2): none, 0. Signal safe. */
int ASGST_Capabilities(void);

/* --- stacks ------------------------------------------------------------------------------------- */

enum ASGST_FrameTypeId {
    ASGST_FRAME_JAVA = 1,         /* interpreted, or compiled */
    ASGST_FRAME_JAVA_INLINED = 2, /* inlined into the compiled frame that follows */
    ASGST_FRAME_JAVA_NATIVE = 3,  /* a Java method that is implemented natively */
    ASGST_FRAME_STUB = 4,         /* code that the JVM generated and that belongs to no method */
    ASGST_FRAME_CPP = 5           /* C, C++ and so on */
};

/*
 *    0      1            2     4         8                16
 *    +------+------------+-----+---------+----------------+
 *    | type | comp_level | bci | (pad)   | method         |     JAVA, JAVA_INLINED, JAVA_NATIVE
 *    +------+------------+-----+---------+----------------+
 *    | type | (pad)                      | pc             |     STUB, CPP
 *    +------+----------------------------+----------------+
 */
typedef struct {
    uint8_t type;      /* ASGST_FrameTypeId */
    int8_t comp_level; /* 0: interpreted; 1 to 3: C1; 4: C2 or JVMCI; -1: not known */
    uint16_t bci;      /* 0 in a native method */
    ASGST_Method method;
} ASGST_JavaFrame;

typedef struct {
    uint8_t type;
    void *pc; /* of the innermost frame: the next instruction; of others: the return address */
} ASGST_NonJavaFrame;

typedef union {
    uint8_t type;
    ASGST_JavaFrame java_frame;
    ASGST_NonJavaFrame non_java_frame;
} ASGST_CallFrame;

enum ASGST_TraceKind {
    ASGST_JAVA_TRACE = 1, /* of a Java thread, whatever it runs */
    ASGST_CPP_TRACE = 2,  /* of a thread that is no Java thread */
    ASGST_GC_TRACE = 4,   /* this one and the next two: never, threads are walked then, too */
    ASGST_DEOPT_TRACE = 8,
    ASGST_NEW_THREAD_TRACE = 16,
    ASGST_UNKNOWN_TRACE = 32 /* before ASGST_Init */
};

typedef struct {
    jint num_frames; /* out: how many there are; <= 0: none, ASGST_Error says why */
    uint8_t kind;    /* in: which ASGST_TraceKinds are wanted, 0: all; out: which it is */
    jint state;      /* in: bits of which the thread must have one, 0: any; out: JVMTI's bits */
    ASGST_CallFrame *frames; /* in: room for depth frames; filled innermost first */
    void *frame_info;        /* out: NULL */
} ASGST_CallTrace;

enum ASGST_Options {
    ASGST_INCLUDE_C_FRAMES = 1,          /* and stubs: what runs above the first Java frame */
    ASGST_INCLUDE_NON_JAVA_THREADS = 2,  /* with the one above: their frames */
    ASGST_WALK_DURING_UNSAFE_STATES = 4, /* these two change nothing: no state is unsafe here, */
    ASGST_WALK_SAME_THREAD = 8           /* and a thread walks itself only */
};

enum ASGST_Error {
    ASGST_NO_JAVA_FRAME = 0,
    ASGST_NO_CLASS_LOAD = -1,
    ASGST_GC_ACTIVE = -2,
    ASGST_UNKNOWN_NOT_JAVA = -3, /* in native code that left no trace of the Java code before it */
    ASGST_NOT_WALKABLE_NOT_JAVA = -4,
    ASGST_UNKNOWN_JAVA = -5,      /* in Java code, but the innermost frame was not understood */
    ASGST_NOT_WALKABLE_JAVA = -6, /* in Java code, but not on the thread's stack */
    ASGST_UNKNOWN_STATE = -7,
    ASGST_THREAD_EXIT = -8,
    ASGST_DEOPT = -9,
    ASGST_THREAD_NOT_JAVA = -10,
    ASGST_NO_THREAD = -11, /* ucontext is of another thread; or before ASGST_Init */
    ASGST_UNSAFE_STATE = -12,
    ASGST_WRONG_STATE = -13, /* none of those that were wanted */
    ASGST_WRONG_KIND = -14
};

/* The stack of the calling thread. ucontext: what the signal handler was given, or getcontext's; NULL:
 * from the thread's last Java frame, in a JVMTI callback or a native method. Frames that are found before
 * a walk breaks off are given. Signal safe; needs 4 KB of stack, with C frames 8 KB (and 16 KB for
 * functions without simple unwind rules: where there is less, their callers are left out). */
void AsyncGetStackTrace(ASGST_CallTrace *trace, jint depth, void *ucontext, uint32_t options);

/* State of the calling thread: bits of JVMTI_THREAD_STATE_* of jvmti.h; 0: no Java thread. Signal safe. */
jint ASGST_ThreadState(void);

/* The same stack frame by frame, as in the later draft. */
typedef struct ASGST_Iterator_s ASGST_Iterator;

typedef struct {
    uint8_t type;
    int comp_level;
    int bci; /* -1: not available */
    ASGST_Method method;
    void *pc;      /* of a frame that is no Java frame, else NULL */
    void *sp, *fp; /* NULL */
} ASGST_Frame;

typedef void (*ASGST_IteratorHandler)(ASGST_Iterator *iterator, void *argument);

/* Frames that an iterator goes through at most. */
#define ASGST_ITERATOR_FRAMES 512

/* Calls handler with the frames of AsyncGetStackTrace, options as there. Returns the kind, or the error
 * (then handler was not called). Signal safe; needs 8 KB of stack more. */
int ASGST_RunWithIterator(void *ucontext, int32_t options, ASGST_IteratorHandler handler,
                          void *argument);
/* 1: frame is filled; 0: there are no more; < 0: the walk broke off here. Signal safe, in the handler. */
int ASGST_NextFrame(ASGST_Iterator *iterator, ASGST_Frame *frame);
/* What ASGST_NextFrame would return. */
int ASGST_State(ASGST_Iterator *iterator);
void ASGST_RewindIterator(ASGST_Iterator *iterator);

/* --- methods and classes ------------------------------------------------------------------------ */

/* In: room for texts and how many bytes of it there are; NULL or 0: not wanted. Out: each length is that
 * of the whole text, which may be longer than what had room; texts end with NUL. A text that this method
 * does not have is empty, and its length 0. Texts are as in class files (modified UTF-8, slashes); a hidden
 * class is "pkg/Name+0x...". */
typedef struct {
    ASGST_Class klass; /* NULL: this is no method (any more), and all else is 0 */
    char *method_name;
    jint method_name_length;
    char *signature;
    jint signature_length;
    char *generic_signature;
    jint generic_signature_length;
    jint modifiers;
    jint idnum;        /* in its class; stays when the class is redefined; -1: made by the JVM */
    jlong class_idnum; /* ASGST_GetClassIdNum */
} ASGST_MethodInfo;

typedef struct {
    char *class_name;
    jint class_name_length;
    char *generic_class_name;
    jint generic_class_name_length;
    jint modifiers;
    jlong idnum; /* 0: this is no class */
} ASGST_ClassInfo;

typedef struct {
    jint start_bci;
    jint line_number;
} ASGST_MethodLineNumberEntry;

/* All of them signal safe. */
void ASGST_GetMethodInfo(ASGST_Method method, ASGST_MethodInfo *info);
/* -1: this is no method, or one that the JVM made (MethodHandle.linkToStatic and the like). */
jint ASGST_GetMethodIdNum(ASGST_Method method);
/* NULL: this is no method. */
ASGST_Class ASGST_GetClass(ASGST_Method method);
void ASGST_GetClassInfo(ASGST_Class klass, ASGST_ClassInfo *info);
/* Stays when the class is redefined. Unique among the classes that are loaded; the number of a class that
 * was unloaded may return, but not before the handlers for unloading were called. 0: this is no class. */
jlong ASGST_GetClassIdNum(ASGST_Class klass);
/* Writes at most length entries in the order of the class file; returns how many the method has (0: no
 * table). entries may be NULL. */
int ASGST_GetMethodLineNumberTable(ASGST_Method method, ASGST_MethodLineNumberEntry *entries,
                                   int length);
/* -1: not available. */
jint ASGST_GetMethodLineNumber(ASGST_Method method, jint bci);

/* NULL: the method has no jmethodID; none is made. Signal safe. */
jmethodID ASGST_MethodToJMethodID(ASGST_Method method);
/* NULL: not of a method; from JDK 26 on always, ids are no addresses there. Signal safe. */
ASGST_Method ASGST_JMethodIDToMethod(jmethodID id);
/* NULL: an array, a primitive type, or not to be read. Not signal safe; on a Java thread. */
ASGST_Class ASGST_JClassToClass(jclass klass);

/* --- what becomes invalid ----------------------------------------------------------------------- */

/* redefined false: the class was unloaded; methods are all it had, and none of them may be asked for any
 * more. Called before a class can run that was loaded later, so that an address which is used again is
 * distinguished. redefined true: the class is about to be redefined or retransformed; methods are those it
 * has now. They stay valid on stacks that have them and until later safepoints; the new ones have the same
 * idnums. A redefinition may still fail: then they stay. count 0: the methods are not known.
 *
 * On the thread that loads or redefines a class, or on one of the JVM's; not in a signal handler. It may
 * use locks and memory and the functions above which are signal safe; no JVMTI, no JNI. Handlers of a
 * process are called one at a time. */
typedef void (*ASGST_ClassUnloadHandler)(ASGST_Class klass, ASGST_Method *methods, int count,
                                         bool redefined, void *argument);

/* Costs, as long as there is a handler: the JVMTI events ClassPrepare and ClassFileLoadHook, a weak
 * reference and some 60 bytes a loaded class, 8 bytes a method. False: no room, or this JVM does not report them.
 * Not signal safe; on a Java thread; not in a handler. */
bool ASGST_RegisterClassUnloadHandler(ASGST_ClassUnloadHandler handler, void *argument);
/* False: it was not there. Waits until the handler is not running. Not signal safe. */
bool ASGST_DeregisterClassUnloadHandler(ASGST_ClassUnloadHandler handler, void *argument);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
