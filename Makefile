# nearmetal: `make help` lists the targets.
SHELL := /bin/bash
export PATH := $(CURDIR)/.tools/go/bin:$(PATH)
export CGO_ENABLED ?= 0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/nearmetal/nearmetal/internal/cli.Version=$(VERSION)
LAB     := $(CURDIR)/.lab
GOFILES  = $(shell git ls-files '*.go')
TOOL     = go tool -modfile=tools.mod

.DEFAULT_GOAL := help
.PHONY: help setup build xfer xfer-check demo test unit browser probe-check enter-check lab-test race lint fuzz golden check bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what building and testing needs (Debian packages, Go)
	@scripts/setup.sh test

build: ## build bin/nearmetal, nearmetal-lab and nearmetal-enter, static
	@scripts/setup.sh build
	@mkdir -p bin
	gcc -O2 -std=c11 -static -Wall -Wextra -Werror -o bin/nearmetal-enter cmd/nearmetal-enter/*.c
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# The digest makes Go's cache see the engine's sources, which lie outside the package.
XFER_ENV = CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -DNMX_SOURCE=$$(cat bench/xfer/engine/*.[ch] | cksum | cut -d' ' -f1)"
xfer: ## build bin/nearmetal-xfer with its engine (needs libfabric-dev), and nmx-copy
	@scripts/setup.sh xfer
	$(XFER_ENV) go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/nearmetal-xfer
	@$(MAKE) --no-print-directory -C bench/xfer/engine copy OUT=$(CURDIR)/bin

xfer-check: ## the transfer engine: tests with cgo, and plain, ASan, UBSan and TSan runs
	$(XFER_ENV) go test ./bench/xfer/... ./cmd/nearmetal-xfer
	@$(MAKE) --no-print-directory -C bench/xfer/engine check OUT=$(CURDIR)/bin/xfer PAGES=4000

demo: ## set everything up, run the main job end to end, show the result
	@scripts/setup.sh demo
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh $(LAB)

test: ## unit, golden, CLI, fuzz seeds, browser, and a real Slurm cluster on this machine
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory unit probe-check enter-check xfer-check browser lab-test

unit: ## tests that need nothing but Go and a C compiler
	go test ./...

probe-check: ## the MPI probe in C, plain and under ASan and UBSan, on this machine's MPI
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
	  $(MAKE) --no-print-directory -C bench/probe/src check OUT=$(CURDIR)/bin/probe MPIRUN="mpirun --oversubscribe"

enter-check: ## the helper that starts ranks in a shared container, under ASan and UBSan
	cmd/nearmetal-enter/check.sh bin/enter

browser: ## the report page in real Chromium
	go test -tags browser -count=1 ./internal/report/...

lab-test: build ## tests on the lab: real slurmctld, srun, PMIx, Apptainer
	@scripts/lab-test.sh $(LAB)

race: ## unit tests under the race detector
	CGO_ENABLED=1 go test -race ./...

lint: ## gofmt, vet, staticcheck, shellcheck, import rules
	@out=$$(gofmt -l $(GOFILES)); [ -z "$$out" ] || { echo "not gofmt'ed: $$out"; exit 1; }
	go vet ./...
	go vet -tags 'lab browser' ./...
	$(TOOL) staticcheck ./...
	shellcheck -x $$(git ls-files '*.sh') .ci/run
	go test -count=1 ./internal/arch

FUZZTIME ?= 20s
fuzz: ## fuzz every parser for FUZZTIME (20s) each
	@scripts/fuzz.sh $(FUZZTIME)

golden: ## write the golden files anew
	go test ./... -update

check: lint test ## what CI runs

bench: build ## measure what we claim (BENCH=run|launch|… one group)
	@scripts/bench.sh $(LAB) $(BENCH)

clean: ## stop the lab, remove what was built (the lab's root filesystems stay in .lab)
	[ ! -x bin/nearmetal-lab ] || bin/nearmetal-lab down --dir $(LAB)
	rm -rf bin bench-out
