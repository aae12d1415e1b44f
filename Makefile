# preview-cost: `make help` lists what there is to type.

CARGO ?= cargo
NAME ?= sqlite-memory

.PHONY: help build experiment test lint postgres h2 test-container mount-test browser-test recompute-check release-check bench bench-large bench-build fuzz readme clean

help: ## List the targets.
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-34s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make experiment NAME=…              one of: $(basename $(notdir $(wildcard experiments/*.toml)))"

build: ## Build the program, optimised.
	$(CARGO) build --release --locked

experiment: build ## Run experiments/NAME.toml, archive it under results/ and print its figures.
	target/release/preview-cost run experiments/$(NAME).toml

test: lint postgres h2 ## Run every check, those against a real PostgreSQL and a real H2 too.
	$(CARGO) test --locked

lint: ## Format, clippy and documentation, without a warning.
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items

# The tests start servers of their own and need PostgreSQL's server binaries. As root on Debian and Ubuntu they are
# installed; elsewhere `doctor` fails with the one command to type.
postgres:
	@$(CARGO) build --locked
	@if ! target/debug/preview-cost doctor --require postgres >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; \
	fi
	@target/debug/preview-cost doctor --require postgres

# The same for H2, whose jar is a package of Debian's and needs a Java.
h2:
	@$(CARGO) build --locked
	@if ! target/debug/preview-cost doctor --require h2 >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libh2-java && \
		{ command -v java >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends default-jre-headless; }; \
	fi
	@target/debug/preview-cost doctor --require h2

test-container: ## Run the checks that need a container engine with the image postgres:16.
	$(CARGO) test --locked --test provision -- --ignored --skip stand_in

mount-test: ## Run the checks that mount file systems: as root, on Linux, with btrfs-progs and xfsprogs.
	$(CARGO) test --locked --test cli mounts:: -- --ignored

browser-test: ## Open a report in Chromium: light, dark, on a phone, on paper. RUN=results/… takes that run.
	$(CARGO) test --locked --test browser -- --ignored

# Apart from `make test`, because it fetches DuckDB and pandas from PyPI.
recompute-check: target/recompute-venv/ready ## Compute every figure and every chain again with DuckDB and pandas, and compare.
	$(CARGO) build --locked
	target/recompute-venv/bin/python tests/recompute/check.py target/debug/preview-cost \
		$(wildcard tests/fixtures/schema-*/*) $(dir $(wildcard results/*/manifest.parquet))
	target/recompute-venv/bin/python tests/recompute/chain.py $(dir $(wildcard results/*/manifest.parquet))

target/recompute-venv/ready: tests/recompute/requirements.txt
	python3 -m venv target/recompute-venv
	target/recompute-venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# Apart from `make test`, because it fetches tools from PyPI, and what is known of the dependencies.
release-check: test target/release-venv/ready ## Check what a release needs: citation, packs, crate, dependencies, package.
	.ci/release-check target/debug/preview-cost $(dir $(wildcard results/*/manifest.parquet))

target/release-venv/ready: .ci/release-requirements.txt
	python3 -m venv target/release-venv
	target/release-venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

bench: ## Measure the program itself; results are ratios beside their bounds.
	$(CARGO) bench --locked --bench analyze_time --bench bootstrap_time --bench bytes_a_row --bench harness_time --bench path_hold --bench rollback_preview

bench-large: ## Measure analyze on a run of 10 million pairs against DuckDB; LARGE_PAIRS=… for another number.
	$(CARGO) bench --locked --bench large_runs

fuzz: ## Read bent archives for FUZZ_MINUTES, 10 by default.
	FUZZ_MINUTES=$${FUZZ_MINUTES:-10} $(CARGO) test --locked --test bad_input -- fuzz --nocapture

bench-build: ## Build from nothing with two jobs, for the time that it takes.
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && $(CARGO) fetch --locked && begun=$$(date +%s) && \
	$(CARGO) build --release --locked --jobs 2 --timings --target-dir "$$fresh" && \
	took=$$(($$(date +%s) - begun)) && mkdir -p target && cp "$$fresh/cargo-timings/cargo-timing.html" target/ && \
	echo "release build from nothing, 2 jobs: $$took s, bound 360 s: $$([ $$took -le 360 ] && echo met || echo NOT MET)" && \
	echo "where the time went: target/cargo-timing.html"

readme: build ## Rewrite README's tables from the archives that they name.
	target/release/preview-cost analyze --splice README.md

clean: ## Remove what was built.
	$(CARGO) clean
