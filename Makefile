# What one does with this tree. Each target installs what it needs and does not find (Debian
# packages, by apt-get); only Swift itself must be there. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test run build install uninstall deb check check-slow bench fuzz install-deps clean

# Words for the program that a target runs: make run ARGS='--set Memory.Capacity=200M'
ARGS ?=
# The socket of `make run`; without it imgd takes its usual one.
SOCKET ?=
# Where `make run` keeps pictures: not where an installed imgd has its own.
CACHE ?= $(CURDIR)/.build/cache
# Where `make install` puts things: below PREFIX, and all of that below DESTDIR.
PREFIX ?= /usr/local
DESTDIR ?=
# How long each fuzzer of `make fuzz` runs.
FUZZ_SECONDS ?= 60

# Products by name: a build of everything would compile what only tests use as well.
release = for product in $(1); do \
  swift build -c release --static-swift-stdlib --product $$product; done

help:
	@echo 'make demo          build imgd, and show what it does'
	@echo 'make test          run every test'
	@echo 'make run           run imgd in the foreground [SOCKET=PATH] [CACHE=DIR] [ARGS=...]'
	@echo 'make build         build imgd, imgctl and imgd-bench into .build/release'
	@echo 'make install       install what was built, with its units [PREFIX=/usr/local] [DESTDIR=]'
	@echo 'make uninstall     take that away again; configuration and pictures stay'
	@echo 'make deb           build the Debian package into .build/deb'
	@echo 'make check         layout, warnings, documentation: what a change must pass'
	@echo 'make check-slow    every test under the thread and the address sanitizer'
	@echo 'make bench         compare imgd with its peers [ARGS=--quick]'
	@echo 'make fuzz          feed the parsers noise [FUZZ_SECONDS=60]'
	@echo 'make install-deps  install the Debian packages that all of this needs'
	@echo 'make clean         remove what was built'

demo:
	@.ci/install-packages build demo
	@$(call release,imgd imgctl)
	@docs/demo.sh .build/release

test:
	@.ci/install-packages build test deb
	@$(call release,imgd imgctl)
	@swift build --build-tests
	@.ci/test

run:
	@.ci/install-packages build
	@$(call release,imgd imgctl)
	@exec .build/release/imgd $(if $(SOCKET),--socket '$(SOCKET)') --cache-directory '$(CACHE)' $(ARGS)

build:
	@.ci/install-packages build
	@$(call release,imgd imgctl imgd-bench)

install:
	@systemd/install '$(PREFIX)' '$(DESTDIR)'

uninstall:
	@systemd/install --remove '$(PREFIX)' '$(DESTDIR)'

deb:
	@.ci/install-packages build deb
	@$(call release,imgd imgctl)
	@debian/pack .build/deb

check:
	@.ci/install-packages build check
	@.ci/check

check-slow:
	@.ci/install-packages build test
	@.ci/check-slow

bench:
	@.ci/install-packages build bench
	@$(call release,imgd imgd-bench)
	@.build/release/imgd-bench $(ARGS)

fuzz:
	@.ci/install-packages build
	@.ci/fuzz '$(FUZZ_SECONDS)'

install-deps:
	@.ci/install-packages build demo test deb check bench

clean:
	@rm -rf .build
