# SPDX-License-Identifier: Apache-2.0
# The front of the build; CMake does the work. `make help` says what there is.
#
# Folders: build/ is the release, build-dev/ has the address and undefined-behaviour sanitizers,
# build-tsan/ the thread sanitizer, build-fuzz/ libFuzzer (CMakePresets.json).

MAKEFLAGS += --no-print-directory

JOBS      ?= $(shell nproc)
PREFIX    ?= /usr/local
DESTDIR   ?=
FUZZ_TIME ?= 60
SOAK_TIME ?= 3600

# Labels that take longer than a change should wait for; `make interop` runs them.
LONG = interop-full|soak

.PHONY: all deps need-build need-check need-test need-fuzz need-format need-deb run run-ensemble check test bench fuzz interop soak mutants \
        coverage install static amalgamation sbom deb deb-test format help clean

all: need-build ## Build a release: programs in build/bin, libraries in build/lib (the default)
	@test -f build/CMakeCache.txt || cmake --preset release -DPAWL_TESTS=OFF
	@cmake --build build -j$(JOBS)

deps: ## Install what is missing for all of the targets, from Debian's packages
	@scripts/deps.sh --install build test fuzz format deb

# Only deps, run, run-ensemble and test install anything; the others name what is missing.
need-build need-check need-test need-fuzz need-format need-deb:
	@scripts/deps.sh $(@:need-%=%)

run: ## Install what is missing, build, let ten processes share a lock, and say what to try next
	@scripts/deps.sh --install build
	@$(MAKE) all
	@scripts/run.sh build

run-ensemble: ## Three servers on loopback under load, their leader killed: the gap, the new epoch, the verdict
	@scripts/deps.sh --install build check
	@$(MAKE) all
	@/usr/bin/python3 scripts/run_ensemble.py

# Three builds, then one run of all of their tests; the last lines are its summary. Many tests wait
# for most of their time, so there are two for each processor.
test: ## Install what is missing, build with and without sanitizers, run the tests (under 25 minutes)
	@scripts/deps.sh --install build test
	@for preset in release dev tsan; do \
	    cmake --preset $$preset -DPAWL_TESTS=ON >/dev/null || exit 1; \
	    cmake --build --preset $$preset -j$(JOBS) || exit 1; \
	done
	@scripts/ctest.sh $$((2 * $(JOBS))) '$(LONG)' build-dev build-tsan build

# One build, no Java: for those who are changing something.
check: need-build need-check ## Build with the address sanitizer and run what needs nobody else's programs (2 minutes)
	@cmake --preset dev -DPAWL_TESTS=ON >/dev/null
	@cmake --build build-dev -j$(JOBS)
	@ctest --test-dir build-dev -L 'unit|component|sim|fuzz' -j$$((2 * $(JOBS))) --output-on-failure

bench: all need-test ## Measure against Apache ZooKeeper on this machine; one table of ratios
	@cmake --preset release -DPAWL_TESTS=ON >/dev/null
	@cmake --build build -j$(JOBS)
	@/usr/bin/python3 test/bench/bench.py --bin build/bin --pawld build/bin/pawld $(BENCH)
	@/usr/bin/python3 test/bench/client_bench.py --bin build/bin --pawld build/bin/pawld $(CLIENT_BENCH)
	@/usr/bin/python3 test/bench/recipe_bench.py --bin build/bin --pawld build/bin/pawld $(RECIPE_BENCH)
	@/usr/bin/python3 test/bench/cli_bench.py --bin build/bin --pawld build/bin/pawld $(CLI_BENCH)

fuzz: need-build need-test need-fuzz ## Run every fuzz target for FUZZ_TIME seconds each (60)
	@cmake --preset fuzz >/dev/null
	@cmake --build build-fuzz -j$(JOBS)
	@scripts/fuzz.sh build-fuzz $(FUZZ_TIME) $(TARGETS)

interop: need-build need-test ## Run all tests with others' programs, at full length
	@cmake --preset release -DPAWL_TESTS=ON >/dev/null
	@cmake --build build -j$(JOBS)
	@ctest --test-dir build -L '^interop' --output-on-failure

soak: need-build need-test ## Run the randomised tests with new seeds for SOAK_TIME seconds (3600)
	@cmake --preset release -DPAWL_TESTS=ON >/dev/null
	@cmake --build build -j$(JOBS)
	@build/bin/fuzz-seeds test/vectors conf build/test/fuzz/seeds
	@scripts/soak.sh build $(SOAK_TIME)

mutants: need-build need-test ## Break the code in some fifty places, one at a time, and show which test notices
	@cmake --preset release -DPAWL_TESTS=ON >/dev/null
	@cmake --build build -j$(JOBS)
	@/usr/bin/python3 test/mutations/mutants.py --build build --jobs $(JOBS) $(MUTANTS)

coverage: need-build need-test ## Say which lines the tests reach
	@cmake --preset coverage >/dev/null
	@cmake --build build-coverage -j$(JOBS)
	@scripts/coverage.sh build-coverage

install: all ## Install into PREFIX (/usr/local), under DESTDIR
	@cmake --install build --prefix '$(PREFIX)'

static: all ## Link build/static/pawld and pawl, which need no library of the system
	@cmake --build build -j$(JOBS) --target static_programs
	@test/e2e/static_programs.sh build || [ $$? = 77 ]

amalgamation: ## Write build/amalgamation/pawl.c and pawl.h: client and recipes in two files
	@/usr/bin/python3 scripts/amalgamate.py . build/amalgamation

sbom: all ## Write build/pawl.spdx.json: what the programs and libraries are made of
	@/usr/bin/python3 scripts/sbom.py . build/pawl.spdx.json build/bin/pawld build/bin/pawl build/lib/libpawl*.so.0

deb: need-build need-deb ## Build Debian packages into build/deb, and have lintian look at them
	@JOBS=$(JOBS) scripts/deb.sh build/deb

deb-test: ## Install, use, upgrade, remove and purge them in a clean root (as root; minutes, and Debian's mirror)
	@/usr/bin/python3 test/deb/clean_root.py build/deb

format: need-format ## Lay out all sources as .clang-format says
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format -i

clean: ## Remove all that was built
	@rm -rf build build-dev build-tsan build-fuzz build-coverage build-*-clang

help: ## This
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
