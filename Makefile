# ulnet. Needs Go, git and make; "make" alone lists what there is to do.

SHELL       := /bin/bash
GO          ?= go
PREFIX      ?= /usr/local
FUZZTIME    ?= 2m
GOAL        ?=
PEERS       ?=
PACKAGES    ?= ./...
SOAK        ?= 10m
SEED        ?= 0
# Tests hold little memory and allocate much: with this value of GOGC the garbage collector runs
# less often, which saves a sixth of the CPU time of simulations.
TESTGC      ?= 400
# Only the race detector needs cgo.
export CGO_ENABLED ?= 0
# Binaries without the path of the tree: what is compiled for tests, for bin/ and for packages is the
# same then, here and in any other clone, so it is compiled once.
export GOFLAGS ?= -trimpath

# cmd/bench is a Go module of its own, which is built and checked beside the root's (.ci/each).
commands    := $(filter-out bench,$(notdir $(patsubst %/main.go,%,$(wildcard cmd/*/main.go))))
# Programs that serve this repository only are not installed. lnetctl, lst and lctl get other names,
# because Lustre has them: LNETCTL=yes and LST=yes install the first two under their own names as
# well. lctl has only a part of the commands of Lustre's, so it never takes that name.
lustres     := lnetctl lst lctl
installed   := $(filter-out demo soak $(lustres),$(commands))
LNETCTL     ?= no
LST         ?= no
BIN         ?= bin
bindir       = $(DESTDIR)$(PREFIX)/bin
libdir       = $(DESTDIR)$(PREFIX)/lib
sharedir     = $(DESTDIR)$(PREFIX)/share
mandir       = $(sharedir)/man/man8
man5dir      = $(sharedir)/man/man5
# What packages and images are made of.
tree        := bin/tree

.PHONY: help build install list-installed list-lustres tree fresh-tree image packages demo test test-long check static ibverbs commands race-commands race fuzz bench bench-peers soak lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build static binaries into bin/
	@mkdir -p bin
	@$(GO) build -trimpath -o bin/ $(commands:%=./cmd/%)
	@$(GO) -C cmd/bench build -trimpath -o $(CURDIR)/bin/ .

install: build ## install the commands and their man pages below PREFIX (/usr/local), lnetctl, lst and lctl as ulnet-lnetctl, ulnet-lst and ulnet-lctl; LNETCTL=yes, LST=yes: as lnetctl and lst too
	install -d $(bindir)
	install $(installed:%=$(BIN)/%) $(bindir)
	install $(BIN)/lnetctl $(bindir)/ulnet-lnetctl
	install $(BIN)/lst $(bindir)/ulnet-lst
	install $(BIN)/lctl $(bindir)/ulnet-lctl
	@for c in $(installed); do $(BIN)/$$c man $(mandir) || exit; done
	@for c in $(lustres); do $(BIN)/$$c man --name ulnet-$$c $(mandir) || exit; done
	install -d $(man5dir)
	$(BIN)/lnetd config --man > $(man5dir)/lnetd.yaml.5
ifeq ($(LNETCTL),yes)
	install $(BIN)/lnetctl $(bindir)/lnetctl
	@$(BIN)/lnetctl man $(mandir)
endif
ifeq ($(LST),yes)
	install $(BIN)/lst $(bindir)/lst
	@$(BIN)/lst man $(mandir)
endif

# What tests ask for: the names of the commands in packages.
list-installed: ; @echo $(installed)
list-lustres: ; @echo $(lustres)

# All files of a package below DESTDIR, an absolute path, with PREFIX=/usr. Only files that git knows
# get there.
tree: install
	install -d $(libdir)/systemd/system $(libdir)/systemd/catalog $(libdir)/sysusers.d $(libdir)/tmpfiles.d
	install -d $(sharedir)/ulnet/systemd $(sharedir)/doc/ulnet $(DESTDIR)/etc/ulnet
	install -m 644 contrib/systemd/*.service $(libdir)/systemd/system
	install -m 644 contrib/systemd/*.catalog $(libdir)/systemd/catalog
	install -m 644 contrib/systemd/sysusers.conf $(libdir)/sysusers.d/ulnet.conf
	install -m 644 contrib/systemd/tmpfiles.conf $(libdir)/tmpfiles.d/ulnet.conf
	install -m 644 contrib/systemd/{actions,capture,rdma}.conf $(sharedir)/ulnet/systemd
	cd contrib && git ls-files -z grafana prometheus | xargs -0 cp --parents -t $(sharedir)/ulnet
	git ls-files -z docs ':(glob)*.md' LICENSE | xargs -0 cp --parents -t $(sharedir)/doc/ulnet
	cp contrib/package/copyright $(sharedir)/doc/ulnet
	gzip -9nc CHANGELOG.md >$(sharedir)/doc/ulnet/changelog.gz
	contrib/package/notices $(patsubst %,$(BIN)/%,$(installed) $(lustres)) >$(sharedir)/doc/ulnet/notices
	install -m 644 contrib/package/lnetd.yaml $(DESTDIR)/etc/ulnet
	@gzip -9nf $(mandir)/* $(man5dir)/*

# A tree with binaries without debugging information.
fresh-tree:
	@rm -rf $(tree) bin/release && mkdir -p bin/release
	@$(GO) build -trimpath -ldflags=-s -o bin/release/ $(patsubst %,./cmd/%,$(installed) $(lustres))
	@$(MAKE) -s -o build tree BIN=bin/release DESTDIR=$(CURDIR)/$(tree) PREFIX=/usr

image: fresh-tree ## build a container image of this commit into bin/image, without a daemon
	@version=$$(contrib/package/version) && file=bin/image/ulnet_$${version}_$$($(GO) env GOARCH).tar && \
	$(GO) run ./cmd/internal/image --release $$version --arch $$($(GO) env GOARCH) --time $$(git log -1 --format=%ct) $(tree) $$file && echo $$file

packages: fresh-tree ## build a .deb and an .rpm of this commit into bin/packages; MAINTAINER='Name <name@domain>' is the address for questions of their users
	@contrib/package/build $(tree) bin/packages

demo: build ## three nodes on loopback exchange messages, decoded; NET=o2ib on RDMA in software
	@bin/demo --net $(or $(NET),tcp)

check: CHECKED = $(shell .ci/changed -w)
check: static commands ## fast: format, vet, staticcheck and short tests of what differs from HEAD, short tests of what imports it, arrows
	@ULNET_RUN=$$$$-$$(date +%s) GOGC=$(TESTGC) ULNET_BIN=$(CURDIR)/bin/test .ci/each $(GO) test -vet=off -skip "^$$(.ci/host)\$$" -short -ldflags=-s -p 3 -parallel 4 -- $$(.ci/near)

test: ## all tests, and under the race detector those with goroutines
	@.ci/test

test-long: ## what repeats, sweeps, mutates and fuzzes, of all PACKAGES
	@.ci/long $(PACKAGES)

# vet and staticcheck read CHECKED: all packages, or in check those that differ from HEAD, because
# both take minutes for all packages that import an edited one. The provider that needs cgo is
# checked where its libraries and a C compiler are installed.
CHECKED ?= ./...
static: ibverbs
	@out=$$($(GO) tool gofumpt -l .); \
	if [ -n "$$out" ]; then echo "not formatted (go tool gofumpt -w FILE):"; echo "$$out"; exit 1; fi
	.ci/each $(GO) vet -- $(CHECKED)
	.ci/each $$($(GO) tool -n staticcheck) -- $(CHECKED)
	.ci/peers

ibverbs:
	@if command -v gcc >/dev/null && [ -f /usr/include/infiniband/verbs.h ] && [ -f /usr/include/rdma/rdma_cma.h ]; then \
		set -x; CGO_ENABLED=1 $(GO) vet -tags ibverbs ./lnd/verbs/ibv && \
		CGO_ENABLED=1 $(GO) tool staticcheck -tags ibverbs ./lnd/verbs/ibv && \
		CGO_ENABLED=1 $(GO) test -count=1 -vet=off -race -short -tags ibverbs ./lnd/verbs/ibv; \
	else echo "lnd/verbs/ibv is not compiled: no gcc, libibverbs-dev or librdmacm-dev; 'make test' as root installs them" >&2; [ "$${CI:-}" != true ]; fi

# Copies the files that have changed from a folder's folder new into it.
refresh = for c in $(2); do cmp -s $(1)/new/$$c $(1)/$$c || cp -f $(1)/new/$$c $(1)/ || exit; done

# The commands that tests start, compiled as the tests are, so that each package is compiled once.
# A command that is as before keeps its file and the time of it: Go caches the result of a test with
# the times of the files that the test looked at. Commits are not stamped on them for the same reason.
commands:
	@mkdir -p bin/test/new
	@$(GO) build -buildvcs=false -ldflags=-s -o bin/test/new/ $(commands:%=./cmd/%)
	@$(call refresh,bin/test,$(commands))

# Scripts run hundreds of commands that ask lnetd and end. Without the race detector these begin
# three times faster; the long suite has them with it.
UNRACED ?= lnetctl lctl gossipctl scollctl
race-commands: commands
	@mkdir -p bin/race/new
	@$(if $(UNRACED),cp $(UNRACED:%=bin/test/%) bin/race/new/)
	@CGO_ENABLED=1 $(GO) build -buildvcs=false -race -ldflags=-s -o bin/race/new/ $(patsubst %,./cmd/%,$(filter-out $(UNRACED),$(commands)))
	@$(call refresh,bin/race,$(commands))

race: race-commands ## short tests of the packages with goroutines under the race detector (needs gcc)
	@packages=$$(.ci/concurrent) && set -x && \
	CGO_ENABLED=1 GOGC=$(TESTGC) ULNET_BIN=$(CURDIR)/bin/race ULNET_RUN=$${ULNET_RUN:-$$$$-$$(date +%s)} .ci/each $(GO) test -vet=off -skip "^$$(.ci/host)\$$" -race -short -ldflags=-s -p 3 -parallel 4 -timeout 30m -- $$packages

fuzz: ## every fuzz target for FUZZTIME (2m)
	@.ci/fuzz $(FUZZTIME)

bench: build ## measure the goals; GOAL=G-LN-1 for one
	@bin/bench --goal '$(GOAL)'

bench-peers: build ## gossip and zones beside memberlist, or with PEERS=leases client health beside etcd (4 min); fetches them
	@case '$(PEERS)' in '') goals='GO-memberlist MS-memberlist' ;; leases) goals=G-CH-etcd ;; \
	*) echo "PEERS is '$(PEERS)': it can be leases, or nothing" >&2; exit 2 ;; esac; \
	for goal in $$goals; do bin/bench --goal $$goal --out '' || exit; done

soak: build ## messages over failing links and hosts for SOAK (10m), all accounted for; NET=o2ib on RDMA in software, NET=mixed ROUTERS=2 RAILS=2 with gateways and several links; needs root
	@bin/soak --net $(or $(NET),tcp) --rails $(or $(RAILS),1) --routers $(or $(ROUTERS),0) --time $(SOAK) --seed $(SEED)

# govulncheck ends with 3 when it found something, with 1 when it could not look.
lint: ## golangci-lint and govulncheck, where installed and reachable
	@if command -v golangci-lint >/dev/null; then .ci/each golangci-lint run -- ./...; \
	else echo "golangci-lint is not installed: skipped"; fi
	.ci/each $$($(GO) tool -n govulncheck) -- ./... || [ $$? != 3 ]

clean: ## remove what build made
	rm -rf bin
