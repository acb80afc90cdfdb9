# Shared by ./dev and .ci/run: packages, configuring, building, running tests and counting them.
# Sourced by bash with the working directory at the root of the tree.
# shellcheck shell=bash disable=SC2034

export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1

BUILD_PACKAGES=(g++ cmake ninja-build libgtest-dev libgmock-dev libhwloc-dev libibverbs-dev libhwy-dev
                libcli11-dev nlohmann-json3-dev libbenchmark-dev libucx-dev python3 iproute2
                procps)
LINT_PACKAGES=(clang-format clang-tidy shellcheck)
PACKAGE_PACKAGES=(dpkg-dev fakeroot file rpm)

JOBS="$(nproc)"
CTEST_JOBS=2

note() { printf '==> %s\n' "$*"; }
warn() { printf 'dev: %s\n' "$*" >&2; }
die() { warn "$*"; exit 1; }

# Installs those of the named Debian packages that are missing.
need_packages() {
  command -v dpkg-query >/dev/null || { warn "not a Debian system: install the equivalents of $*"; return 0; }
  local package missing=()
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return 0
  [[ "$(id -u)" == 0 ]] || die "these packages are missing: ${missing[*]}
     as root: apt-get install ${missing[*]}"
  note "installing ${missing[*]}"
  install_packages "${missing[@]}"
}

# apt-get update is left out while the package lists still serve.
install_packages() {
  local log
  log="$(mktemp)"
  local install=(apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -y -q
                 --no-install-recommends install "$@")
  if "${install[@]}" >"$log" 2>&1 </dev/null ||
     { apt-get -o Acquire::Retries=3 -q update >>"$log" 2>&1 </dev/null &&
       "${install[@]}" >>"$log" 2>&1 </dev/null; }; then
    rm -f "$log"
    return 0
  fi
  tail -n 20 "$log" >&2
  rm -f "$log"
  die "apt-get could not install $*: is the network or a package mirror reachable?"
}

# build_folder PRESET: where that preset builds.
build_folder() { if [[ "$1" == release ]]; then echo build; else echo "build/$1"; fi; }

# configure PRESET [CMAKE ARGUMENTS]
configure() {
  local preset="$1" log folder
  shift
  folder="$(build_folder "$preset")"
  command -v ccache >/dev/null && set -- "$@" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache
  mkdir -p "$folder"
  log="$folder/configure.log"
  note "configuring $preset"
  cmake --preset "$preset" "$@" >"$log" 2>&1 </dev/null || { tail -n 30 "$log" >&2; die "configuring failed"; }
}

# build PRESET [TARGETS]: shows progress on a terminal, the errors only elsewhere.
build() {
  local folder log
  folder="$(build_folder "$1")"
  note "building $1 with $JOBS jobs"
  shift
  if [[ -t 1 ]]; then
    ninja -C "$folder" -j "$JOBS" "$@" </dev/null || die "the build failed"
    return 0
  fi
  log="$folder/build.log"
  ninja -C "$folder" -j "$JOBS" "$@" >"$log" 2>&1 </dev/null ||
    { grep -E -A 30 -m 3 'FAILED|error' "$log" >&2 || tail -n 40 "$log" >&2; die "the build failed, see $log"; }
}

# run_tests PRESET [CTEST ARGUMENTS]: writes results.xml into the build folder, returns ctest's status.
run_tests() {
  local folder
  folder="$(build_folder "$1")"
  shift
  rm -f "$folder/results.xml"
  env_without_settings ctest --test-dir "$folder" --parallel "$CTEST_JOBS" --output-on-failure \
    --no-tests=error --output-junit "$PWD/$folder/results.xml" "$@" </dev/null
}

# Runs a command without the settings of the caller's own jobs.
env_without_settings() {
  local name unset=()
  while IFS= read -r name; do unset+=(-u "$name"); done < <(compgen -e | grep -E '^(THINWIRE|NCCL)_' | grep -vx THINWIRE_LONG_TESTS || true)
  env "${unset[@]}" "$@"
}

# counts_of FILE: "PASSED FAILED SKIPPED" of a results.xml; "0 1 0" when there is none.
counts_of() {
  /usr/bin/python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as xml

try:
    cases = list(xml.parse(sys.argv[1]).getroot().iter("testcase"))
except (OSError, xml.ParseError):
    cases = None
if not cases:
    print("0 1 0")
    sys.exit()


def state(case):
    # A test whose program is missing is "notrun" too, and no skip.
    if case.get("status") in ("run", "fail"):
        return "passed" if case.get("status") == "run" else "failed"
    skipped = case.find("skipped")
    reason = "" if skipped is None else skipped.get("message", "")
    asked = case.get("status") == "disabled" or reason.startswith("SKIP_")
    return "skipped" if asked else "failed"


states = [state(case) for case in cases]
print(*(states.count(name) for name in ("passed", "failed", "skipped")))
PYTHON
}
