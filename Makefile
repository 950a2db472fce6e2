# The commands of this tree. Each target installs the Debian packages that it needs and does not find;
# only Swift itself must be installed already. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo page test test-python test-service test-slow run build install uninstall deb image check check-slow \
  check-image check-page check-packages check-source-package bench fuzz soak nightly install-deps clean

# Arguments for the program that a target runs: make run ARGS='--set Memory.Capacity=200M'
ARGS ?=
# The socket of `make run`; without it imgd uses its default socket.
SOCKET ?=
# The port of `make page`; 8080 unless it is given.
PORT ?=
# The cache directory of `make run` and `make page`: not that of an installed imgd.
CACHE ?= $(CURDIR)/.build/cache
# How long `make soak` goes on, and the number that decides about its order.
SOAK_MINUTES ?= 5
SEED ?= 1
# `make install` installs below $(DESTDIR)$(PREFIX).
PREFIX ?= /usr/local
DESTDIR ?=
# How long each fuzzer of `make fuzz` runs, and which; all of them unless some are given.
FUZZ_SECONDS ?= 60
TARGET ?=

# Before a build: installs the packages for it, and removes products that another directory has left.
prepare = .ci/install-packages build $(1) && .ci/build-place
release = .ci/build-release $(1)
# All that is shipped, in the form in which it is shipped.
shipped = imgd imgd-decoder imgd-http small-imgctl

help:
	@echo 'make demo            build imgd, and show what it does'
	@echo 'make page            run imgd and imgd-http, for the page of the cache in a browser [PORT=8080]'
	@echo 'make test            run the tests: a line for each target, and what failed'
	@echo 'make test-python     run those of the module for Python alone'
	@echo 'make test-service    run those of what is shipped: under systemd, as packages, imgctl as it is installed'
	@echo 'make test-slow       run the tests that measure, or repeat one thing thousands of times'
	@echo 'make run             run imgd in the foreground [SOCKET=PATH] [CACHE=DIR] [ARGS=...]'
	@echo 'make build           build all programs into .build/release'
	@echo 'make install         install what was built, with the systemd units [PREFIX=/usr/local] [DESTDIR=]'
	@echo 'make uninstall       remove it again; pictures and a configuration that was changed stay'
	@echo 'make deb             build the Debian packages into .build/deb'
	@echo 'make image           build an image for containers: .build/imgd.oci.tar, as root'
	@echo 'make check           layout, warnings, documentation: what a change must pass'
	@echo 'make check-slow      every test under the sanitizers'
	@echo 'make check-image     start its container, and look at it from outside'
	@echo 'make check-page      open the page of imgd-http in a browser, and look at all that it shows'
	@echo 'make check-packages  whether a minimal Debian has all that it needs'
	@echo 'make check-source-package   whether dpkg-buildpackage makes what make deb makes'
	@echo 'make bench           compare imgd with its peers [ARGS=--quick]'
	@echo 'make fuzz            feed the parsers random input [FUZZ_SECONDS=60] [TARGET=...]'
	@echo 'make soak            a daemon under load, and one fault after another, as root [SOAK_MINUTES=5] [SEED=1]'
	@echo 'make nightly         what is run once a week: check-slow, fuzz, soak, check-image, check-source-package'
	@echo 'make install-deps    install the Debian packages that all of this needs'
	@echo 'make clean           remove what was built'

demo:
	@.ci/prepare-debug demo
	@.ci/build-debug imgd imgd-decoder imgctl
	@docs/demo.sh .build/debug

page:
	@$(call prepare)
	@$(call release,imgd imgd-decoder imgctl imgd-http)
	@SOCKET='$(SOCKET)' CACHE='$(CACHE)' PORT='$(PORT)' docs/page.sh .build/release

test:
	@.ci/prepare-debug test
	@.ci/build-debug
	@status=0; .ci/test || status=1; .ci/test-python || status=1; exit $$status

test-python:
	@.ci/prepare-debug test
	@.ci/build-debug imgd imgd-decoder
	@.ci/test-python

test-service:
	@$(call prepare,test deb)
	@$(call release,$(shipped))
	@.ci/build-debug
	@status=0; .ci/test --filter '^SystemdTests\.' || status=1; .ci/test-imgctl || status=1; exit $$status

test-slow:
	@$(call prepare,test)
	@$(call release,$(shipped))
	@.ci/build-debug
	@.ci/test --slow

run:
	@$(call prepare)
	@$(call release,imgd imgd-decoder imgctl)
	@echo 'In another terminal: .build/release/imgctl $(if $(SOCKET),--socket $(SOCKET) )fetch https://example.org/a.jpg'
	@exec .build/release/imgd $(if $(SOCKET),--socket '$(SOCKET)') --cache-directory '$(CACHE)' $(ARGS)

build:
	@$(call prepare)
	@$(call release,$(shipped))

install:
	@systemd/install '$(PREFIX)' '$(DESTDIR)'

uninstall:
	@systemd/install --remove '$(PREFIX)' '$(DESTDIR)'

deb:
	@$(call prepare,deb)
	@$(call release,$(shipped))
	@debian/pack .build/deb

image:
	@$(call prepare,image)
	@$(call release,$(shipped))
	@container/make-image .build/imgd.oci.tar

check-image: image
	@.ci/check-image

check-page:
	@.ci/prepare-debug page
	@.ci/build-debug imgd imgd-decoder imgd-http
	@.ci/check-page debug

check-packages:
	@.ci/install-packages check
	@.ci/check-packages

check-source-package: deb
	@$(call prepare,check)
	@.ci/check-source-package $(ARGS)

check:
	@.ci/prepare-debug check
	@.ci/check

check-slow:
	@$(call prepare,test)
	@.ci/check-slow

bench:
	@$(call prepare,bench)
	@$(call release,imgd imgd-decoder imgd-http multiply-index)
	@swift build -c release --package-path Benchmarks --scratch-path .build/benchmarks --static-swift-stdlib
	@.build/benchmarks/release/imgd-bench --programs .build/release $(ARGS)

fuzz:
	@$(call prepare,fuzz)
	@.ci/fuzz '$(FUZZ_SECONDS)' $(TARGET)

soak:
	@$(call prepare,soak)
	@$(call release,imgd imgd-decoder imgd-http soak)
	@.ci/soak '$(SOAK_MINUTES)' '$(SEED)' $(ARGS)

nightly:
	@.ci/nightly

install-deps:
	@.ci/install-packages build demo page test deb image check bench fuzz soak

clean:
	@rm -rf .build
