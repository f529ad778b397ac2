# Every check of this project is a target here; .ci/run calls `make test`.
# Needed: Go 1.26 and a C compiler (for the race detector). Everything else is fetched
# by Go, pinned by go.sum and internal/tools/go.sum.

GO       ?= go
# ./... skips testdata, so the scripted agent is named.
PACKAGES := ./... ./testdata/scripted-agent
TOOL     := $(GO) tool -modfile=internal/tools/go.mod

# How long each fuzz target runs, and how many times its runs soak carries out.
FUZZTIME ?= 20s
SOAK     ?= 1

.DEFAULT_GOAL := help
.PHONY: help run build test lint bench fuzz soak mutate interop live

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## hand one task to the built-in demo agent, in a directory made for it
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	bin/errand run --agent demo --permission allow --dir "$$dir" "Write a file that shows you were here" && \
	echo && echo "What it wrote into $$dir:" && head "$$dir"/*

build: ## build bin/errand
	$(GO) build -o bin/errand ./cmd/errand

test: lint ## everything that must hold: lint, then all tests under the race detector
	$(GO) test -race -timeout 20m $(PACKAGES)

lint: ## gofmt, vet for three systems, staticcheck
	@unformatted=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) && test -z "$$unformatted" || { echo "gofmt -w these: $$unformatted"; exit 1; }
	GOOS=linux $(GO) vet $(PACKAGES)
	GOOS=darwin $(GO) vet $(PACKAGES)
	GOOS=windows $(GO) vet $(PACKAGES)
	$(TOOL) staticcheck $(PACKAGES)

bench: ## measure what docs/benchmarks.md shows, and write it
	$(GO) run ./internal/bench/report

fuzz: ## run each fuzz target for FUZZTIME (20s)
	FUZZTIME=$(FUZZTIME) internal/tools/fuzz.sh $(PACKAGES)

soak: ## thousands of runs of agents that fail at random points, in ten minutes (SOAK=0.1: a tenth), and 200 fan-outs
	$(GO) run ./internal/soak -scale $(SOAK)
	$(GO) test -count=1 -timeout 20m -run TestFanOutsOfProcessesAtRandom ./subagent -fanouts 200

mutate: ## break the code in small ways; each must turn its row of PARITY red
	$(GO) run ./internal/mutate

interop: ## drive agents that nobody here wrote, offline, and write docs/agents.md (AGENTS="opencode cline"; all without)
	$(GO) run ./internal/interop $(or $(AGENTS),$(AGENT))

live: ## drive an agent of yours with your key and its real model (AGENT=opencode)
	$(GO) run ./internal/interop -live $(or $(AGENT),$(AGENTS))
