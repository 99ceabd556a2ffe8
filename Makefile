# The commands of this project. "make" builds; CI runs "make test", then "make test-host".

GO ?= go
CC ?= cc
# The race detector needs a C compiler; without one the tests run without it. It
# watches our code, not SQLite's, which it makes six times as slow.
RACE := $(shell command -v $(CC) >/dev/null 2>&1 && echo "-race '-gcflags=modernc.org/sqlite/lib=-race=false'")

# A "python3" that is a shim of pyenv runs two dozen shells before it is Python.
ifneq (,$(findstring /shims/,$(shell command -v python3 2>/dev/null)))
export PATH := $(shell python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$(PATH)
endif

# Compilers, linters and tests live for seconds: they need not save memory.
export GOGC := $(or $(GOGC),400)
# gRPC's own page of traces links html/template, and with that the linker keeps each
# exported method of each type: 8 MB, and an eighth of the time that a start takes.
export GOFLAGS := $(strip $(GOFLAGS) -tags=grpcnotrace)
# How often a property is tried with what chance has it; test-long says more.
export RAPID_CHECKS := $(or $(RAPID_CHECKS),25)
long: export RAPID_CHECKS = 200
long: export UNITD_TEST_LONG = 1

.PHONY: build picture c-client pebble base test test-host test-long format lint vet staticcheck programs unit plain sessions bench venv host raced cross long fuzz install clean

# What is built is called by its tag, without the v, else by its commit.
VERSION = $(or $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null)),0.0.0-dev$(addprefix +,$(shell git rev-parse --short=12 HEAD 2>/dev/null)))
STAMP = -X github.com/unitd/unitd/agent.built=$(VERSION)
# The linker writes a program through a mapping, a page at a time, and the system's
# cache of the file stays in as many pieces; written at once it's in large ones. A
# start then has fewer of them to map, and takes a tenth to a third less.
AT_ONCE = { dd if=$(1) of=$(1).new bs=268435456 2>/dev/null && chmod 755 $(1).new && mv -f $(1).new $(1); } || { rm -f $(1).new; echo 'cannot write $(1).new: is the disk full?' >&2; exit 1; }
build: ## the two programs, in bin/
	CGO_ENABLED=0 $(GO) build -ldflags='$(STAMP)' -o bin/unitd ./cmd/unitd
	@$(call AT_ONCE,bin/unitd)
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o bin/unitd-hooktool ./cmd/hooktool
	@$(MAKE) -s c-client C_CLIENT=bin/unitd-hooktool-c

.PHONY: version wheel
version: ## the version of what is built here
	@echo '$(VERSION)'

# The hook tools' client in C, for Linux: it starts faster. Without a compiler, or
# on another system, there is the Go client alone.
C_CLIENT ?= bin/unitd-hooktool-c
c-client:
	@if [ "$$(uname -s)" = Linux ] && $(CC) -Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -no-pie -Wall -Wextra \
		-Wl,--build-id=none -s -o $(C_CLIENT) cmd/hooktool/c/hooktool.c 2>/dev/null; then :; \
	else rm -f $(C_CLIENT); echo 'no client in C is built here: hook tools use the one in Go'; fi

picture: build ## docs/session.svg, from a real run of suite/picture/session.txt
	data=$$(mktemp -d) && PATH=$(CURDIR)/bin:$$PATH UNITD_ISOLATE=off UNITD_DATA=$$data \
		$(GO) run ./suite/picture suite/picture/session.txt docs/session.svg; code=$$?; rm -rf "$$data"; exit $$code

# A wheel for each platform, with the programs, in WHEELS. The client in C is in
# that of the host's platform, for which there is a compiler.
WHEELS ?= $(CURDIR)/bin/wheels
WHEEL_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
wheel: ## the packages for PyPI, in bin/wheels
	@set -e; rm -rf $(WHEELS)/programs; version='$(VERSION)'; for p in $(WHEEL_PLATFORMS); do \
		dir=$(WHEELS)/programs/$$p; mkdir -p $$dir; \
		for program in unitd:unitd unitd-hooktool:hooktool; do \
			CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -ldflags='-s -w $(STAMP)' -o $$dir/$${program%:*} ./cmd/$${program#*:}; \
		done; \
		if [ $$p = "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" ]; then $(MAKE) -s c-client C_CLIENT=$$dir/unitd-hooktool-c; fi; \
		python3 python/wheel.py --platform $$p --version "$$version" --programs $$dir --out $(WHEELS); \
	done; rm -rf $(WHEELS)/programs

pebble: ## Pebble, in bin/, for who wants to run charms with containers and has none
	$(PEBBLE_BUILD) $(CURDIR)/bin/pebble $(PEBBLE_MAIN)

# Package suite runs the stages and prints what they have cost. It returns the exit code
# of the first one that fails.
SUITE = $(GO) build -o bin/suite ./suite && exec bin/suite

test: ## all that must pass before a change goes in, on any machine
	@$(SUITE) stages $(MAKE) $(TEST_STAGES)

test-host: ## what needs root, networks, servers or packages; it skips what it can't do
	@$(SUITE) stages $(MAKE) $(HOST_STAGES)

test-long: ## all of both and more, in two hours or so: run before a release
	@export WHOLE=1 && $(SUITE) all $(MAKE) $(LONG_STAGES)

TEST_STAGES = format lint venv unit plain sessions
HOST_STAGES = venv base host raced bench cross
# Each test once, in the longest form that it has, and sessions with the race detector
# once more. WHOLE has the stages of "make test"
# run the tests that need a host with the others, and leaves LONG's packages to "long".
LONG_STAGES = format lint vet staticcheck venv base unit plain long raced bench cross fuzz
HOSTLESS = $(if $(WHOLE),,-skip '^TestHost')
LONG = ./machine ./hooks/... ./state/... ./model ./relation ./recording ./context ./uniter/...

# Tests whose names begin with TestHost are for test-host; so are those that start
# servers of etcd.
ENGINES = ./state/store/etcd
host:
	@$(SUITE) test $(RACE) -vet=off $(ENGINES)
	@$(SUITE) test $(RACE) -vet=off -run '^TestHost' $$(grep -l '^func TestHost' -r --include='*_test.go' . | xargs -n1 dirname | sort -u | grep -vx $(SESSIONS:%=-e %))

# All that a person types, with the race detector over those who type.
raced:
	@$(SUITE) test $(RACE) -vet=off $(SESSIONS)

# The race detector is where it is in "make test". Many of them begin with another step
# each time: what is known of the last time doesn't count. They wait for processes that
# they start and kill, so more of them run at once than there are processors.
long:
	@$(SUITE) test $(RACE) -vet=off -count=1 -parallel=4 $$($(GO) list $(LONG) | grep -v '/uniter/sim$$')
	@export CGO_ENABLED=0 && $(SUITE) test -vet=off -count=1 ./uniter/sim $(SESSIONS)

FUZZ = ./tools:FuzzFlags ./tools:FuzzSettings ./tools:FuzzKeyValues ./tools:FuzzRelationIDs ./tools:FuzzSecretArgs ./tools:FuzzBatch \
	./tools:FuzzServer ./charmdir:FuzzMetadata ./charmdir:FuzzArchive ./charmdir:FuzzProject ./recording:FuzzParse ./bundle:FuzzParse ./charmhub:FuzzAnswer \
	./oci:FuzzParse ./oci:FuzzUnpack \
	./kube:FuzzDiff ./kube:FuzzStrategicMerge ./kube:FuzzQuantity ./kube:FuzzSelector
FUZZ += ./waitfor:FuzzParse ./model:FuzzDiscreet ./state:FuzzLoggedFields
FUZZ += ./pebble:FuzzAnswer ./pebble:FuzzNotice ./pebble:FuzzFile

# go test may take the end of its time for a failure ("context deadline exceeded"). A second
# run tells: an input that fails is kept, and fails at once.
fuzz:
	@set -e; for f in $(FUZZ); do \
		one() { set -x; $(GO) test -vet=off -run '^$$' -fuzz "^$${f#*:}\$$" -fuzztime 30s -fuzzminimizetime 10x $${f%:*}; }; \
		one || { echo 'once more:'; one; }; { set +x; } 2>/dev/null; \
	done

format:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt -w these:"; echo "$$out"; exit 1; fi

# What "go vet" and staticcheck know, for this platform; and for Macs, at which charm
# authors sit, and other processors: what Linux alone has is behind build tags. The
# two programs look at all that anything imports as well, and take five times as long.
lint:
	@$(GO) run ./suite/lint darwin/arm64 linux/arm64

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

# Built as "make wheel" and "make dist" do, whose tests have compiled most of it.
cross:
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -trimpath ./...

# Built once for the tests of all packages. A program that hasn't changed keeps its
# date: what go test has kept of tests with it stays valid.
PROGRAMS = $(CURDIR)/bin/test
# The real Pebble is a test tool, in a module of its own, and never linked.
PEBBLE_BUILD = cd pebble/testdata/pebble && CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags='-s -w' -o
PEBBLE_MAIN = github.com/canonical/pebble/cmd/pebble
programs:
	@mkdir -p $(PROGRAMS)/new
	$(GO) build -buildvcs=false -ldflags='-s -w' -o $(PROGRAMS)/new/unitd ./cmd/unitd
	@$(call AT_ONCE,$(PROGRAMS)/new/unitd)
	$(GO) build -buildvcs=false -ldflags='-s -w' -o $(PROGRAMS)/new/unitd-hooktool ./cmd/hooktool
	@$(MAKE) -s c-client C_CLIENT=$(PROGRAMS)/new/unitd-hooktool-c
	$(PEBBLE_BUILD) $(PROGRAMS)/new/pebble $(PEBBLE_MAIN) || { [ "$$CI" != true ] && rm -f $(PROGRAMS)/pebble && echo 'no Pebble could be built: the tests with it will be skipped'; }
	@cd $(PROGRAMS) && for p in $$(ls new); do cmp -s new/$$p $$p || mv new/$$p $$p; done && rm -rf new
unit plain sessions raced host long bench check-bugs: programs
unit plain sessions raced host long bench check-bugs: export UNITD_TEST_PROGRAMS = $(PROGRAMS)

# A root with systemd, for the tests of machines: where root has debootstrap. It is made
# once, in a folder of the user's that clones share, and put there whole.
BASE = $(VENVS)/base-debian-12
BASE_PACKAGES = systemd,systemd-sysv,dbus,python3-minimal,sudo,lsb-release,iproute2,netbase,ca-certificates,procps
base: ## a root with systemd, for the tests of machines
	@if [ -d $(BASE) ]; then :; \
	elif [ "$$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then echo 'no root with systemd is made here, which takes root and debootstrap: the tests with it will be skipped'; \
	else mkdir -p $(VENVS) && rm -rf $(BASE).new && \
		if debootstrap --variant=minbase --include=$(BASE_PACKAGES) bookworm $(BASE).new >$(BASE).log 2>&1; then mv $(BASE).new $(BASE); \
		else tail -n 3 $(BASE).log; echo 'no root with systemd could be made: the tests with it will be skipped'; fi; \
	fi
host raced long: base
unit plain host raced bench long: export UNITD_TEST_BASE = $(shell test -d $(BASE) && echo $(BASE))

unit:
	@if [ -z "$(RACE)" ]; then \
		if [ "$$CI" = true ]; then echo 'a C compiler is needed in CI, for the race detector'; exit 1; fi; \
		echo 'no C compiler here: the tests run without the race detector'; \
	fi
	@$(SUITE) test $(RACE) -vet=off $(HOSTLESS) $$($(GO) list ./... | grep -v -e '/uniter/sim$$' -e '/suite/lint$$' -e '/suite/action$$' -e '/scale$$' -e 'unitd/unitd$$' $(ENGINES:.%=-e '%$$') $(SESSIONS:.%=-e '%$$') \
		$(if $(WHOLE),$(patsubst ./%,-e '/unitd/%\(/\|$$\)',$(LONG:/...=))))

# Packages sim and scale go through millions of states, in one goroutine each: the
# race detector would make that many times as slow, and see nothing. The linters would
# have to be compiled for it. The tests of the walls and of the pages read files.
plain:
	@$(SUITE) test -vet=off $(HOSTLESS) $(if $(WHOLE),,./uniter/sim) ./scale ./suite/lint ./suite/action .

# Where there is no race detector, nothing has to be compiled twice, with and without
# C: so all that a C library is asked for is built once, for all programs and tests.
programs lint plain sessions: export CGO_ENABLED = 0

# These start real programs, which have no race detector, and wait for them: their
# own part costs half of all with it. So "make test-host" has it, and the tests
# that need a host with them.
SESSIONS = ./script ./cmd/unitd ./testcharms
sessions:
	@$(SUITE) test -vet=off -skip '^TestHost' $(SESSIONS)

# Checks each planted bug, a large charm, and each sound charm with ten seeds, one after the
# other: up to five minutes each on an otherwise idle machine, hours in all. What has a line in
# the file of results isn't checked again, so you can stop at any time and go on later. To check
# something again, remove its line.
.PHONY: check-bugs
check-bugs: ## which of the planted bugs unitd check finds, in docs/check-bugs.md
	@trap : INT; (export UNITD_CHECK_BUGS=$(CURDIR)/testcharms/planted/results.jsonl && $(SUITE) test -vet=off -run '^TestHostCheck' ./testcharms); code=$$?; \
		$(GO) test -count=1 -run '^TestThePageOfPlantedBugs$$' ./testcharms -update-page && exit $$code

# Once each, so that they don't rot, in the programs that the tests have been built
# for; figures are taken without RACE, with -benchtime and -count, see docs/performance.md.
BENCHES = $$(grep -l '^func Benchmark' -r --include='*_test.go' . | xargs -n1 dirname | sort -u)
bench:
	@$(SUITE) test $(RACE) -vet=off -run '^$$' -bench . -benchtime 1x $$(echo "$(BENCHES)" | grep -vx $(SESSIONS:%=-e %))
	@$(SUITE) test -vet=off -run '^$$' -bench . -benchtime 1x $$(echo "$(BENCHES)" | grep -x $(SESSIONS:%=-e %))

# benchstat, which compares, is fetched: it is pinned there, and no part of the module.
COUNT ?= 6
.PHONY: bench-compare
bench-compare: ## the main benchmarks at OLD, a revision of git, and as the tree is
	@test -n "$(OLD)" || { echo 'which revision? make bench-compare OLD=REV, with COUNT=6 and ONLY=REGEXP if you like'; exit 2; }
	@$(GO) build -o bin/compare ./suite/compare && exec bin/compare -count $(COUNT) -only '$(ONLY)' '$(OLD)'

# The Python charms of the tests run with the real frameworks: the newest Ops 3
# in an environment of its own, the newest Ops 2, charm-helpers and lightkube in
# folders of it. Without Python 3 their tests say that they were skipped.
# It is made once for each set of requirements, in a folder of the user's that
# clones share, and put there whole.
VENVS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/unitd-tests
REQUIREMENTS = testcharms/opsy/requirements.txt testcharms/testdata/requirements-ops2.txt testcharms/testdata/requirements-charmhelpers.txt \
	testcharms/testdata/requirements-opstesting.txt testcharms/testdata/requirements-opstracing.txt \
	kube/testdata/requirements-lightkube.txt \
	page/testdata/requirements-axe.txt \
	pebble/testdata/requirements-pytest.txt \
	python/requirements.txt \
	clients/requirements.txt

venv:
	@if python3 -c 'import venv, ensurepip' 2>/dev/null; then set -e; \
		venv="$(VENVS)/venv-$$({ python3 -c 'import sys; print(sys.executable, sys.version)'; cat $(REQUIREMENTS); } | git hash-object --stdin)"; \
		if [ ! -e "$$venv" ]; then \
			mkdir -p "$(VENVS)"; new=$$(mktemp -d "$(VENVS)/new-XXXXXX"); \
			python3 -m venv "$$new"; pip="$$new/bin/python -m pip install --quiet --disable-pip-version-check"; \
			$$pip -r testcharms/opsy/requirements.txt; \
			$$pip --target "$$new/ops2" -r testcharms/testdata/requirements-ops2.txt; \
			$$pip --target "$$new/opstesting" -r testcharms/testdata/requirements-opstesting.txt; \
			$$pip --target "$$new/opstracing" -r testcharms/testdata/requirements-opstracing.txt; \
			$$pip --target "$$new/charmhelpers" -r testcharms/testdata/requirements-charmhelpers.txt; \
			$$pip --target "$$new/lightkube" -r kube/testdata/requirements-lightkube.txt; \
			$$pip --target "$$new/axe" --no-deps -r page/testdata/requirements-axe.txt; \
			$$pip --target "$$new/pytest" -r pebble/testdata/requirements-pytest.txt; \
			$$pip --target "$$new/python" -r python/requirements.txt; \
			"$$new/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary ops -d "$$new/sdist" -r testcharms/opsy/requirements.txt; \
			tar -xzf "$$new"/sdist/ops-*.tar.gz --no-same-owner -C "$$new/sdist"; \
			chmod 755 "$$new"; if [ -e "$$venv" ]; then rm -rf "$$new"; else mv "$$new" "$$venv"; fi; \
		fi; \
		rm -rf .venv; ln -s "$$venv" .venv; \
	elif [ "$$CI" = true ]; then \
		echo 'Python 3 with venv is needed in CI: install python3-venv'; exit 1; \
	else \
		echo 'no Python 3 with venv here: the tests with Ops will be skipped'; \
	fi

# Archives, Debian packages, images, lists of what is in the programs, and checksums, in
# DIST. The same commit gives the same bytes, with the same versions of Go and of cc.
DIST ?= $(CURDIR)/bin/dist
DIST_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
.PHONY: dist
dist: ## what people install, for each platform, in bin/dist
	@set -e; rm -rf $(DIST); built=$(DIST)/built; mkdir -p $$built/texts; \
	for p in $(DIST_PLATFORMS); do \
		dir=$$built/programs/$$p; mkdir -p $$dir; \
		for program in unitd:unitd unitd-hooktool:hooktool; do \
			CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -buildvcs=false -ldflags='-s -w -buildid= $(STAMP)' -o $$dir/$${program%:*} ./cmd/$${program#*:}; \
		done; \
		if [ $$p = "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" ]; then $(MAKE) -s c-client C_CLIENT=$$dir/unitd-hooktool-c; fi; \
	done; \
	CGO_ENABLED=0 $(GO) run -trimpath -buildvcs=false ./cmd/unitd manual $$built/texts; \
	$(GO) run ./suite/dist -version '$(VERSION)' -programs $$built/programs -texts $$built/texts -licence LICENSE -out $(DIST); \
	rm -rf $$built; ls $(DIST)

install: build ## into PREFIX/bin; with JUJU=1 as juju too, where there is no other one
	install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
	install bin/unitd bin/unitd-hooktool $(wildcard bin/unitd-hooktool-c) $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
	@$(call AT_ONCE,$(DESTDIR)$(or $(PREFIX),/usr/local)/bin/unitd)
	@if [ -n "$(JUJU)" ]; then cd $(DESTDIR)$(or $(PREFIX),/usr/local)/bin && \
		if [ "$$(readlink juju)" = unitd ]; then :; elif [ -e juju ] || [ -L juju ]; then echo "$$PWD/juju is another program: it stays" >&2; exit 1; \
		else ln -s unitd juju; fi; fi

clean:
	rm -rf bin .venv
