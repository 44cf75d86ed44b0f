# nmtwatch: the Makefile is the architecture drawing. Stages in flow order, one list each.
#
#   floor  <-  analyzers (pure)  <-  reports  <-  nmtwatch (the world)
#   floor  <-  agent
#
# A sanitizer is another build directory: make BUILD=build/asan SANITIZE=address,undefined test-unit

VERSION := $(shell cat VERSION)
# For another machine: make CROSS=aarch64-linux-gnu-, into a build directory of its own, against the
# packages of `make sysroot-arm64`. RUN runs a program that was built.
CROSS   ?=
BUILD   ?= build$(CROSS:%-=/%)
ifeq ($(origin CC),default)
CC      := $(CROSS)gcc
endif
ifeq ($(origin AR),default)
AR      := $(CROSS)ar
endif
ifneq ($(CROSS),)
SYSROOT ?= $(shell scripts/test/sysroot-arm64.sh folder)
CPPFLAGS += --sysroot=$(SYSROOT)
# -B: the sysroot's C library, which has Debian's updates, before the cross compiler's own.
override LDFLAGS += --sysroot=$(SYSROOT) -B$(SYSROOT)/usr/lib/$(CROSS:%-=%)
RUN     := env QEMU_LD_PREFIX=$(SYSROOT) qemu-aarch64-static
endif
PREFIX  ?= /usr/local
DESTDIR ?=

# What is of the processor has a folder or a file for each: floor/*/$(MACHINE), agent/*/$(MACHINE), nmtwatch/machine,
# analyzers/heap.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
ifeq ($(wildcard agent/hotspot/$(MACHINE)/*.c),)
$(error nmtwatch is for x86_64 and aarch64: $(CC) compiles for $(MACHINE))
endif

CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
CPPFLAGS += -I. -D_GNU_SOURCE -DNMTWATCH_VERSION='"$(VERSION)"' \
            $(patsubst %,-DMACHINE_BIT_COUNT='"%"',$(wildcard analyzers/heap/$(MACHINE)/bit_count.h))
ALL_CFLAGS := -std=gnu17 $(CFLAGS) $(WARN) -fno-strict-aliasing -fstack-protector-strong
# What the compiler takes of these: CET is x86's. Overflow checks of the libc (FORTIFY) need optimization,
# would hide errors from a sanitizer, and stay as CFLAGS says (a Debian package does).
takes     = $(shell echo 'int main(void){return 0;}' | $(CC) -Werror $(1) -x c -include stdio.h -fsyntax-only - 2>/dev/null && echo '$(1)')
ALL_CFLAGS += $(call takes,-fstack-clash-protection) $(call takes,-fcf-protection=full)
ifeq ($(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS)),)
FORTIFY   := $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),$(or $(call takes,-O2 -D_FORTIFY_SOURCE=3),$(call takes,-O2 -D_FORTIFY_SOURCE=2)))
ALL_CFLAGS += $(filter -D%,$(FORTIFY))
endif
LDFLAGS  ?=
# Relocations are done at start and read-only from then on.
override LDFLAGS += -Wl,-z,relro -Wl,-z,now
ifneq ($(SANITIZE),)
# Optimized less, to be built in half the time: these warnings guess wrong then. They are on without a sanitizer.
ALL_CFLAGS += -Og -g1 -Wno-format-truncation -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overread -Wno-clobbered
ALL_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
# Without relocations and with the run-time library in the program: it starts and ends in 9 ms of CPU, not in 14. Tests
# start it thousands of times.
ifneq ($(and $(findstring address,$(SANITIZE)),$(call takes,-static-libasan)),)
ALL_CFLAGS += -fno-pie
override LDFLAGS += -no-pie -static-libasan $(if $(findstring undefined,$(SANITIZE)),-static-libubsan)
endif
endif
# jansson, zlib, inih and ncurses are linked in: the binary can be copied alone into a container with a libc.
LIBS := -Wl,-Bstatic -ljansson -lz -linih -lncursesw -ltinfo -Wl,-Bdynamic -lm -pthread

# --- floor: what the agent and nmtwatch share ----------------------------------------------------------
BASE    := span normalize weights
HOTSPOT := $(MACHINE)/code symbol_name layout code_cache scopes frame_cache return_address topmost walk call_frame frame_rule \
           method_reading class_graph
FORMAT  := jfr_bytes jfr_metadata
WIRE    := agent_options leftovers
FLOOR   := $(BASE:%=floor/base/%) $(HOTSPOT:%=floor/hotspot/%) $(FORMAT:%=floor/jfr/%) $(WIRE:%=floor/wire/%)

# --- analyzers: bytes and numbers in, findings out ------------------------------------------------
HEAP := object_ids heap heap_scan walk retained holders copies holder_paths holders_baseline
PARSE := redact jcmd_reply nmt_row nmt_summary metaspace class_tables \
         class_log hsperfdata proc_text nmt_detail text_kind hs_err oom_lines gc_log thread_dump tool_lines tool_tables
CLEAN := clean_text text_lines prefixes json_texts wraps
MODEL := texts units memory_reply event
TREND := rate history drawdown trend_line curve_fit window verdict verdict_ask
CLASSES := family call_site stem_table census heap_census loader_table
NATIVE := internal account call_site_group rss_account
SOAK := estimate trial
PLAN := suitability plan_input measured sizing plan
CLASSLOG := class_rows classlog
TRIAGE := crash facts facts_ticket facts_texts facts_read triage triage_findings triage_names triage_memory triage_growth triage_ticket triage_gc triage_tools triage_categories triage_answers
JUDGE := finding episode judge_classes judge_names judge_heap judge_growth judge_memory judge level
ANALYZERS := $(CLEAN:%=analyzers/text/%) $(PARSE:%=analyzers/parse/%) $(MODEL:%=analyzers/model/%) $(TREND:%=analyzers/trend/%) \
             $(CLASSES:%=analyzers/classes/%) $(NATIVE:%=analyzers/native/%) $(JUDGE:%=analyzers/judge/%) \
             $(SOAK:%=analyzers/soak/%) $(TRIAGE:%=analyzers/triage/%) $(CLASSLOG:%=analyzers/classlog/%) \
             $(PLAN:%=analyzers/plan/%) $(HEAP:%=analyzers/heap/%)

# --- reports: findings and series to whatever people read -----------------------------------------
TEXT := escape units
JSON := json_out json_fields event_json
PAGE := terminal page page_html markdown_html runbooks
WATCH_VIEW := watch_view
STORY := story chart_canvas chart story_report
DIAGNOSIS := triage_report plan_report holders_report
SOAK_REPORT := soak_report difference
PROFILE_VIEW := pprof call_tree thread_frames profile_difference flamegraph class_makers observe_report agent_report
METRICS := exposition sample_csv sample_metrics prometheus_rules
REPORTS := $(TEXT:%=reports/text/%) $(JSON:%=reports/json/%) $(PAGE:%=reports/page/%) $(WATCH_VIEW:%=reports/watch/%) \
           $(STORY:%=reports/story/%) $(DIAGNOSIS:%=reports/diagnosis/%) $(SOAK_REPORT:%=reports/soak/%) \
           $(PROFILE_VIEW:%=reports/profile/%) $(METRICS:%=reports/metrics/%)

# --- nmtwatch: JVMs, disk, terminal; one file per verb --------------------------------------------
PROCESS := messages files signals left_behind apart
JVM := failure privileged as_target rooted proc room perfdata agent_files jdk_files target accountable syscall_filter attach attach_connect
WATCH := watch_options pause_budget load_log naming watcher watching stop_profiler session
RECORD := recording
ALERT := notify receiver message queue http_post delivery push
JFR := history_jfr jfr_chunk jfr_stacks jfr_read jfr_profile jfr_live
SOAK_RUN := child counter soak_run
PROFILE := agent_library agent_filter agent_call start_options one_shot alloc_run
COMMANDS := $(patsubst nmtwatch/commands/%.c,%,$(wildcard nmtwatch/commands/*.c))
SERVE := mhd callers snapshot target_rules serve_options scan archive ended member saved_state \
         outlets fleet observer metrics views web confine helper serve
TOP := screen rows detail job top
WORKER := worker permitted
TRIAGE_RUN := saved recorded live
PLAN_RUN := plan_sources
REPORT_RUN := gnuplot report_files
DOCTOR := doctor_checks
EXPORT := export_events
OBSERVE := remote elf_file heap_object heap_sampler allocations perf_events uprobes stacks jvm_ranges malloc_arenas rss loaded_methods observe observe_child observe_answer
HEAP_RUN := dump_file holders_run heap_dump
NMTWATCH := $(JVM:%=nmtwatch/jvm/%) $(WATCH:%=nmtwatch/watch/%) $(RECORD:%=nmtwatch/record/%) \
            $(ALERT:%=nmtwatch/alert/%) $(JFR:%=nmtwatch/jfr/%) $(PROFILE:%=nmtwatch/profile/%) $(SOAK_RUN:%=nmtwatch/soak/%) \
            $(TRIAGE_RUN:%=nmtwatch/triage/%) $(PLAN_RUN:%=nmtwatch/plan/%) $(REPORT_RUN:%=nmtwatch/report/%) $(DOCTOR:%=nmtwatch/doctor/%) $(EXPORT:%=nmtwatch/export/%) $(HEAP_RUN:%=nmtwatch/heap/%) $(OBSERVE:%=nmtwatch/observe/%) $(WORKER:%=nmtwatch/worker/%) $(SERVE:%=nmtwatch/serve/%) $(TOP:%=nmtwatch/top/%) nmtwatch/machine/machine nmtwatch/machine/$(MACHINE) nmtwatch/classlog/log_feed $(PROCESS:%=nmtwatch/process/%) $(COMMANDS:%=nmtwatch/commands/%)

# --- agent: libnmtagent.so, on the floor alone; needs a JDK's jvmti.h ---------------------------------------
JDK_HOME ?= $(firstword $(patsubst %/include/jvmti.h,%,$(wildcard $(JAVA_HOME)/include/jvmti.h /usr/lib/jvm/*/include/jvmti.h)))
JVMTI_INCLUDES := $(if $(JDK_HOME),-isystem $(JDK_HOME)/include -isystem $(JDK_HOME)/include/linux)
# Not with a sanitizer: its run-time library would have to be in the JVM first.
AGENT := $(if $(JDK_HOME),$(if $(SANITIZE),,$(BUILD)/libnmtagent.so))
# What each sample runs of the walker stands in one section, which agent/sampling/sampler.c fetches into the caches at once.
OBJCOPY := $(shell $(CC) -print-prog-name=objcopy 2>/dev/null)
WALKED := walk topmost return_address scopes code_cache frame_cache $(MACHINE)/code method_reading
SIGNAL_TEXT := $(WALKED:%=floor/hotspot/%) agent/hotspot/safepoints agent/hotspot/$(MACHINE)/loads agent/stack/engine_signal
AGENT_SOURCES := $(wildcard agent/*.c agent/*/*.c agent/*/$(MACHINE)/*.c) $(FLOOR:%=%.c)
# The first glibc of an architecture, and the one that has the rest: agent/old_glibc.h.
GLIBC_OLD_x86_64  := 2.2.5 2.3.3
GLIBC_OLD_aarch64 := 2.17 2.17
AGENT_CFLAGS := -include agent/old_glibc.h -DGLIBC_OLD='"GLIBC_$(word 1,$(GLIBC_OLD_$(MACHINE)))"' \
                -DGLIBC_OLD_LATER='"GLIBC_$(word 2,$(GLIBC_OLD_$(MACHINE)))"' -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fno-plt $(JVMTI_INCLUDES)

# Its name, so that a profiler that is linked to it gets the one that was loaded by -agentpath.
AGENT_LDFLAGS := -shared -Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete -Wl,-soname,libnmtagent.so -Wl,--version-script=agent/exports.map

# Objects have a folder of their own: build/nmtwatch is the program.
obj = $(patsubst %,$(BUILD)/obj/%.o,$(1))
# Objects are made again when the compiler or its flags are others than those of the last time.
FLAGS := $(strip $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS))
# In a group: the walker of the floor loads through a part of nmtwatch (observe/remote).
LIBRARIES := $(BUILD)/libnmtwatch.a $(BUILD)/libreports.a $(BUILD)/libanalyzers.a $(BUILD)/libfloor.a
archives = -Wl,--start-group $(filter %.a,$^) -Wl,--end-group

.PHONY: all setup demo check test test-fresh jdks test-jdks bench serve-week verdict-error-rates fuzz stress soak-test sysroot-arm64 test-arm64 format lint clean install uninstall dist deb release release-all release-image test-deb test-release sbom
all: $(BUILD)/nmtwatch $(AGENT)

ifneq ($(FLAGS),$(file <$(BUILD)/flags))
$(BUILD)/flags: others
endif
$(BUILD)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@
.PHONY: others

$(BUILD)/nmtwatch: $(call obj,nmtwatch/main $(NMTWATCH) $(FLOOR)) $(BUILD)/libreports.a $(BUILD)/libanalyzers.a
	@echo "  LINK $@"
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# One file without a dynamic linker, of the same objects: scripts/package/static.sh.
$(BUILD)/static/nmtwatch: $(call obj,nmtwatch/main nmtwatch/static_program $(NMTWATCH) $(FLOOR)) $(BUILD)/libreports.a $(BUILD)/libanalyzers.a scripts/package/static.sh
	@echo "  LINK $@"
	@CC='$(CC)' LDFLAGS='$(LDFLAGS)' scripts/package/static.sh $(@D) $(filter %.o %.a,$^)

$(BUILD)/libfloor.a: $(call obj,$(FLOOR))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libanalyzers.a: $(call obj,$(ANALYZERS))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libreports.a: $(call obj,$(REPORTS))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libnmtwatch.a: $(call obj,$(NMTWATCH))
	@rm -f $@; $(AR) rcs $@ $^

$(BUILD)/obj/%.o: %.c VERSION $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The pages are part of the program: `nmtwatch explain`.
$(BUILD)/obj/reports/page/runbooks.o: $(wildcard docs/runbooks/*.md)
# Styles and scripts of HTML are, too, and a page's policy names each by its hash.
PAGE_STYLES  := reports/page/page.css reports/profile/flamegraph.css
PAGE_SCRIPTS := reports/profile/flamegraph.js
hash_of = $(shell sha256sum $(1) | cut -c -64 | tr a-f A-F | basenc -d --base16 | base64)
hashes  = $(foreach file,$(1), 'sha256-$(call hash_of,$(file))')
$(BUILD)/obj/reports/page/page_html.o $(BUILD)/obj/reports/profile/flamegraph.o: $(PAGE_STYLES) $(PAGE_SCRIPTS)
$(BUILD)/obj/reports/page/page_html.o: CPPFLAGS += -DPAGE_STYLE_HASHES="\"$(call hashes,$(PAGE_STYLES))\"" \
                                                   -DPAGE_SCRIPT_HASHES="\"$(call hashes,$(PAGE_SCRIPTS))\""

$(BUILD)/obj-agent/%.o: %.c VERSION $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $< (agent)"
	@$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(AGENT_CFLAGS) -MMD -MP -c -o $@ $<
	@$(if $(filter $(SIGNAL_TEXT:%=%.c),$<),$(OBJCOPY) --rename-section .text=signal_text $@)
$(BUILD)/libagent.a: $(AGENT_SOURCES:%.c=$(BUILD)/obj-agent/%.o)
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libnmtagent.so: $(AGENT_SOURCES:%.c=$(BUILD)/obj-agent/%.o) agent/exports.map
	@echo "  LINK $@"
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(AGENT_LDFLAGS) -o $@ $(filter %.o,$^) -ldl -lm -pthread
# With a leak, for scripts/test/soak-test.sh: the check has to find it.
$(BUILD)/leak/mem.o: agent/mem/mem.c VERSION $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $< (agent with a leak)"
	@$(CC) $(CPPFLAGS) -DNMTAGENT_INJECT_LEAK $(ALL_CFLAGS) $(AGENT_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/leak/libnmtagent.so: $(BUILD)/leak/mem.o $(filter-out %/mem/mem.o,$(AGENT_SOURCES:%.c=$(BUILD)/obj-agent/%.o))
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(AGENT_LDFLAGS) -o $@ $(filter %.o,$^) -ldl -lm -pthread

# --- tests -----------------------------------------------------------------------------------------
# What is tested is optimized with a sanitizer, too, the tests themselves are not: they compile in three quarters of the time.
TEST_CFLAGS = $(ALL_CFLAGS) $(if $(SANITIZE),-O0)
# A unit test is named for its source, or for the part of it that it tests: tests/unit/parse/hs_err_test.c.
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/*_test.c tests/unit/*/$(MACHINE)/*_test.c tests/golden/*_test.c))
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))

$(BUILD)/tests/%_test: tests/%_test.c $(LIBRARIES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(TEST_CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(archives) -lcmocka $(LIBS)

# The floor needs nothing but itself.
$(BUILD)/tests/unit/floor_%_test: tests/unit/floor_%_test.c $(BUILD)/libfloor.a
	@mkdir -p $(@D)
	@echo "  TEST $@"
	@$(CC) $(CPPFLAGS) $(TEST_CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(BUILD)/libfloor.a -lcmocka -lm

$(BUILD)/tests/unit/agent_%_test: tests/unit/agent_%_test.c $(BUILD)/libagent.a
	@mkdir -p $(@D)
	@echo "  TEST $@"
	@$(CC) $(CPPFLAGS) $(TEST_CFLAGS) $(JVMTI_INCLUDES) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(BUILD)/libagent.a -lcmocka -ldl -lm -pthread
# An agent that walks with both engines at every sample: compare_test.sh.
COMPARED := engine_choose scopes_at frame_cache_find frame_cache_keep
$(BUILD)/compare/libnmtagent.so: tests/agent/compare.c $(AGENT_SOURCES:%.c=$(BUILD)/obj-agent/%.o)
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(AGENT_CFLAGS) $(LDFLAGS) $(AGENT_LDFLAGS) $(COMPARED:%=-Wl,--wrap=%) \
	    -o $@ $(filter %.c %.o,$^) -ldl -lm -pthread
# The agent writes what this one reads.
$(BUILD)/tests/unit/jfr/jfr_read_test $(BUILD)/tests/unit/jfr/jfr_classes_test: $(BUILD)/libagent.a
$(BUILD)/stress/%: tests/stress/%_stress.c $(BUILD)/libagent.a
	@mkdir -p $(@D)
	@echo "  TEST $@"
	@$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(JVMTI_INCLUDES) $(LDFLAGS) -o $@ $< $(BUILD)/libagent.a -ldl -lm -pthread

# The same entry point serves libFuzzer (make fuzz) and the replay of seeds (make test).
$(BUILD)/fuzz/%: tests/fuzz/%_fuzz.c tests/fuzz/replay_main.c $(LIBRARIES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(archives) $(LIBS)

$(BUILD)/schema_check: tests/schema/schema_check.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -Wl,-Bstatic -ljansson -Wl,-Bdynamic

$(BUILD)/fake_jvm: tests/sim/fake_jvm.c tests/sim/fake_replies.c tests/sim/fake_jvm.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) -pthread

$(BUILD)/fake_receiver: tests/sim/fake_receiver.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -pthread

# How often the verdict errs, on series whose truth is known.
VERDICT_TRIALS := random noise shape baselines trial tally tables error_rates
$(BUILD)/error_rates: $(call obj,$(VERDICT_TRIALS:%=tests/verdict/%)) $(BUILD)/libanalyzers.a $(BUILD)/libfloor.a
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lm

# Measuring programs for scripts/bench/bench.sh.
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(filter-out %/put_times.c,$(wildcard tests/bench/*.c)))
# The agent's own, without the rest of us.
$(BUILD)/bench/mem_bench $(BUILD)/bench/timer_bench: $(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libagent.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(JVMTI_INCLUDES) $(LDFLAGS) -o $@ $(filter %.c %.a,$^) -ldl -lm -pthread
# An agent that takes the time of each walk and put: scripts/bench/calltrace.sh.
$(BUILD)/bench/times/libnmtagent.so: tests/bench/put_times.c $(AGENT_SOURCES:%.c=$(BUILD)/obj-agent/%.o)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(AGENT_CFLAGS) $(LDFLAGS) $(AGENT_LDFLAGS) -Wl,--wrap=calltrace_put -Wl,--wrap=recording_buffer_claim \
	    -o $@ $(filter %.c %.o,$^) -ldl -lm -pthread
$(BUILD)/bench/%: tests/bench/%.c tests/bench/bench.h $(LIBRARIES)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(archives) $(LIBS)

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

STRESS := $(patsubst tests/stress/%_stress.c,$(BUILD)/stress/%,$(wildcard tests/stress/*_stress.c))
stress-programs: $(STRESS)
unit-tests: $(UNIT_TESTS) $(BUILD)/fake_jvm
fuzz-replayers: $(FUZZERS:%=$(BUILD)/fuzz/%)
benches: $(BENCHES)
.PHONY: unit-tests fuzz-replayers benches stress-programs

# --- what people call --------------------------------------------------------------------------------
setup:
	@scripts/setup.sh

demo:
	@scripts/setup.sh demo
	@$(MAKE) --no-print-directory -s all
	@scripts/demo.sh $(BUILD)

# Every day: unit, golden, sim, one JVM. The whole is `make test`.
check: setup
	@scripts/test/test.sh check
test: setup
	@scripts/test/jdks.sh second
	@scripts/test/test.sh
# What a release is tried with beyond that; five to twenty minutes.
test-release: setup
	@$(MAKE) --no-print-directory -s release $(BUILD)/fake_jvm $(BUILD)/fake_receiver
	@scripts/package/test-release.sh $(BUILD)
# The package, in systems of its own; five to ten minutes.
test-deb: deb
	@scripts/package/test-deb.sh $(BUILD)
	@scripts/package/test-systemd.sh $(BUILD)
test-%: setup
	@$(if $(filter system,$*),scripts/test/jdks.sh second)
	@scripts/test/test.sh $*
# README's commands in bare roots of Debian 12 and 13; forty minutes, as root.
test-fresh:
	@scripts/test/fresh.sh

# Debian's arm64 packages and JDKs in a folder outside this tree, for CROSS=aarch64-linux-gnu-; the tests of
# arm64 by an emulator.
sysroot-arm64:
	@scripts/test/sysroot-arm64.sh
test-arm64:
	@$(MAKE) --no-print-directory -s all
	@scripts/test/test-arm64.sh

# Every JDK of Debian unstable, in a folder outside this tree; all of them with all their collectors.
jdks:
	@scripts/test/jdks.sh
test-jdks: setup
	@$(MAKE) --no-print-directory -s all
	@BUILD=$(BUILD) scripts/test/test-jdks.sh --update $(JDKS)
	@$(if $(JDKS),,scripts/test/sysroot-arm64.sh lacking | grep . || scripts/test/test-arm64.sh --jdks)

# bench-NAME runs scripts/bench/NAME.sh: account agent alloc alloc-compare calltrace churn-ids classes classlog fleet histograms holders memory million observe plan sample top.
bench: setup
	@$(MAKE) --no-print-directory -s all benches $(BUILD)/fake_jvm
	@scripts/bench/bench.sh $(BUILD)
	@scripts/bench/classlog.sh $(BUILD)
	@scripts/bench/classes.sh $(BUILD)
	@PAIRS=2 ROUNDS=2000 MEGABYTES=200 scripts/bench/alloc.sh $(BUILD)
bench-%: setup
	@$(MAKE) --no-print-directory -s all benches $(BUILD)/fake_jvm
	@scripts/bench/$*.sh $(if $(filter agent,$*),--fetch) $(BUILD)
# Ten minutes: a week of samples at a thousand times the speed of time.
serve-week: setup
	@$(MAKE) --no-print-directory -s all $(BUILD)/fake_jvm
	@scripts/test/serve-week.sh $(BUILD) $(or $(DAYS),7)

# Rewrites the generated part of docs/internals/error-rates.md; minutes.
verdict-error-rates:
	@$(MAKE) --no-print-directory -s $(BUILD)/error_rates
	@scripts/bench/verdict-error-rates.sh $(BUILD)

fuzz: setup
	@scripts/test/fuzz.sh $(FUZZ_SECONDS)

stress: setup
	@$(MAKE) --no-print-directory -s all $(BUILD)/libnmtagent.so $(BUILD)/fake_jvm $(BUILD)/fake_receiver
	@scripts/test/stress.sh $(BUILD)
# Minutes: make soak-test MINUTES=5
soak-test: setup
	@$(MAKE) --no-print-directory -s all $(BUILD)/libnmtagent.so
	@scripts/test/soak-test.sh $(or $(MINUTES),30) $(BUILD)

# The agent is loaded into JVMs, never linked to: a folder of its own, not the linker's.
LIBDIR     ?= $(PREFIX)/lib/nmtwatch
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
DOCDIR     := $(PREFIX)/share/doc/nmtwatch
INSTALL    := install -D -m 644

# One page for each verb, from the tables that parse its options.
$(BUILD)/man/nmtwatch.1: $(BUILD)/nmtwatch scripts/package/man-pages.sh docs/nmtwatch.1 $(wildcard docs/man/*.1)
	@scripts/package/man-pages.sh $(BUILD)/nmtwatch $(@D) $(RUN)

install: all $(BUILD)/man/nmtwatch.1
	install -D -m 755 $(BUILD)/nmtwatch $(DESTDIR)$(PREFIX)/bin/nmtwatch
	$(if $(AGENT),$(INSTALL) $(AGENT) $(DESTDIR)$(LIBDIR)/libnmtagent.so)
	$(INSTALL) -t $(DESTDIR)$(PREFIX)/share/man/man1 $(BUILD)/man/*.1
	$(INSTALL) packaging/completion/nmtwatch.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nmtwatch
	$(INSTALL) agent/context/nmtagent_context.h $(DESTDIR)$(PREFIX)/include/nmtagent_context.h
	$(INSTALL) agent/asgst/asgst.h $(DESTDIR)$(PREFIX)/include/nmtwatch/asgst.h
	$(INSTALL) -t $(DESTDIR)$(PREFIX)/share/man/man3 docs/man/*.3
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/examples docs/examples/*.c
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/examples/build docs/examples/build/pom.xml docs/examples/build/build.gradle
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/examples/build/src/main/java/orders docs/examples/build/src/main/java/orders/*.java
	$(INSTALL) agent/context/java/nmtagent/Context.java $(DESTDIR)$(PREFIX)/share/nmtwatch/java/nmtagent/Context.java
	$(INSTALL) -t $(DESTDIR)$(DOCDIR) README.md SECURITY.md docs/*.md
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/runbooks docs/runbooks/*.md
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/internals docs/internals/*.md
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/json docs/json/*.md
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/schema docs/schema/*.json
	$(INSTALL) -t $(DESTDIR)$(DOCDIR)/examples packaging/grafana/*.json packaging/kubernetes/*.yaml packaging/prometheus/*.yml packaging/ci/*.yml
	$(INSTALL) LICENSE $(DESTDIR)$(DOCDIR)/copyright
	$(INSTALL) packaging/serve.ini $(DESTDIR)$(SYSCONFDIR)/nmtwatch/serve.ini
	$(INSTALL) packaging/nmtwatch.service $(DESTDIR)$(UNITDIR)/nmtwatch.service
	$(INSTALL) packaging/nmtwatch.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/nmtwatch.conf
	$(INSTALL) packaging/nmtwatch.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/nmtwatch.conf
	sed -i 's|/usr/bin|$(PREFIX)/bin|; s|/etc/nmtwatch|$(SYSCONFDIR)/nmtwatch|' $(DESTDIR)$(UNITDIR)/nmtwatch.service
# Leaves the configuration.
uninstall:
	rm -rf $(DESTDIR)$(LIBDIR) $(DESTDIR)$(DOCDIR) $(DESTDIR)$(PREFIX)/share/nmtwatch $(DESTDIR)$(PREFIX)/include/nmtwatch
	rm -f $(DESTDIR)$(PREFIX)/bin/nmtwatch $(DESTDIR)$(PREFIX)/share/man/man1/nmtwatch*.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/nmtwatch \
		$(DESTDIR)$(PREFIX)/include/nmtagent_context.h $(DESTDIR)$(PREFIX)/share/man/man3/asgst.3 $(DESTDIR)$(UNITDIR)/nmtwatch.service \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/nmtwatch.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/nmtwatch.conf

# The same sources make the same bytes: scripts/package/dist.sh says how.
dist:
	@scripts/package/dist.sh $(BUILD)
# A Debian package in build/deb, with debhelper; scripts/package/test-deb.sh tries it in a system of its own.
deb:
	@CROSS=$(CROSS) scripts/package/deb.sh $(BUILD)
# What people download, in build/release: the static program with the agent, an image, sums (scripts/package/release.sh).
release: $(BUILD)/static/nmtwatch $(BUILD)/libnmtagent.so $(BUILD)/man/nmtwatch.1
	@CC='$(CC)' scripts/package/release.sh $(BUILD)
# Of both machines, with one image for both, in build/release-all.
release-all:
	@$(MAKE) --no-print-directory release
	@$(MAKE) --no-print-directory CROSS=aarch64-linux-gnu- release
	@scripts/package/release.sh --join build build/aarch64-linux-gnu
release-image: $(BUILD)/static/nmtwatch $(BUILD)/libnmtagent.so
	@CC='$(CC)' scripts/package/release.sh $(BUILD) image
# What is in the program that is not ours, as CycloneDX.
sbom: $(BUILD)/nmtwatch $(AGENT)
	@CC='$(CC)' scripts/package/sbom.sh $^ >$(BUILD)/nmtwatch.cdx.json
	@echo "$(BUILD)/nmtwatch.cdx.json"

C_FILES = $(shell git ls-files '*.c' '*.h')
format:
	clang-format -i $(C_FILES)
lint:
	@scripts/test/lint.sh

clean:
	rm -rf build
