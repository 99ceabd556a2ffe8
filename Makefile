# The commands of this project. "make" builds; "make test" is all that CI runs.

GO ?= go
CC ?= cc
# The race detector needs a C compiler; without one the tests run without it. It
# watches our code, not SQLite's, which it makes six times as slow.
RACE := $(shell command -v $(CC) >/dev/null 2>&1 && echo "-race '-gcflags=modernc.org/sqlite/lib=-race=false'")

.PHONY: build c-client test test-long format vet lint cross unit bench venv install clean

build: ## the two programs, in bin/
	$(GO) build -o bin/unitd ./cmd/unitd
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o bin/unitd-hooktool ./cmd/hooktool
	@$(MAKE) -s c-client C_CLIENT=bin/unitd-hooktool-c

# The hook tools' client in C, for Linux: it starts faster. Without a compiler, or
# on another system, there is the Go client alone.
C_CLIENT ?= bin/unitd-hooktool-c
c-client:
	@if [ "$$(uname -s)" = Linux ] && $(CC) -Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -no-pie -Wall -Wextra \
		-Wl,--build-id=none -s -o $(C_CLIENT) cmd/hooktool/c/hooktool.c 2>/dev/null; then :; \
	else rm -f $(C_CLIENT); echo 'no client in C is built here: hook tools use the one in Go'; fi

test: format vet lint venv unit bench cross ## everything, in some minutes

test-long: test ## more of it, in half an hour at most: run before a release
	UNITD_TEST_LONG=1 $(GO) test $(RACE) -timeout 25m -count=3 ./machine ./script/... ./cmd/unitd ./uniter/... ./hooks/...
	UNITD_TEST_LONG=1 $(GO) test $(RACE) -timeout 25m ./state/... ./testcharms
	$(GO) test -run '^$$' -fuzz '^FuzzFlags$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzSettings$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzKeyValues$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzRelationIDs$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzSecretArgs$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzBatch$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz '^FuzzServer$$' -fuzztime 30s -fuzzminimizetime 10x ./tools
	$(GO) test -run '^$$' -fuzz FuzzMetadata -fuzztime 30s -fuzzminimizetime 10x ./charmdir
	$(GO) test -run '^$$' -fuzz FuzzArchive -fuzztime 30s -fuzzminimizetime 10x ./charmdir
	$(GO) test -run '^$$' -fuzz FuzzProject -fuzztime 30s -fuzzminimizetime 10x ./charmdir
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime 30s -fuzzminimizetime 10x ./recording
	$(GO) test -run '^$$' -fuzz FuzzParse -fuzztime 30s -fuzzminimizetime 10x ./bundle

format:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt -w these:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

lint:
	$(GO) tool staticcheck ./...

# Charm authors sit at Macs; what Linux alone has is behind build tags.
cross:
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build ./...

# Package sim goes through millions of states, in one goroutine each: the race
# detector would make that many times as slow, and see nothing.
unit:
	@if [ -z "$(RACE)" ]; then \
		if [ "$$CI" = true ]; then echo 'a C compiler is needed in CI, for the race detector'; exit 1; fi; \
		echo 'no C compiler here: the tests run without the race detector'; \
	fi
	$(GO) test $(RACE) -timeout 10m $$($(GO) list ./... | grep -v '/uniter/sim$$')
	$(GO) test -timeout 10m ./uniter/sim

# Once each, so that they don't rot; figures are taken with -benchtime and
# -count, see the README.
bench:
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

# The Python charms of the tests run with the real frameworks: the newest Ops 3
# in an environment of its own, the newest Ops 2 and charm-helpers in folders
# of it. Without Python 3 their tests say that they were skipped.
venv: .venv/ready

.venv/ready: testcharms/opsy/requirements.txt testcharms/testdata/requirements-ops2.txt testcharms/testdata/requirements-charmhelpers.txt
	@if python3 -c 'import venv, ensurepip' 2>/dev/null; then \
		rm -rf .venv && python3 -m venv .venv && pip=".venv/bin/pip install --quiet --disable-pip-version-check" && \
		$$pip -r testcharms/opsy/requirements.txt && \
		$$pip --target .venv/ops2 -r testcharms/testdata/requirements-ops2.txt && \
		$$pip --target .venv/charmhelpers -r testcharms/testdata/requirements-charmhelpers.txt && \
		touch .venv/ready; \
	elif [ "$$CI" = true ]; then \
		echo 'Python 3 with venv is needed in CI: install python3-venv'; exit 1; \
	else \
		echo 'no Python 3 with venv here: the tests with Ops will be skipped'; \
	fi

install: build ## into PREFIX/bin
	install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
	install bin/unitd bin/unitd-hooktool $(wildcard bin/unitd-hooktool-c) $(DESTDIR)$(or $(PREFIX),/usr/local)/bin

clean:
	rm -rf bin .venv
