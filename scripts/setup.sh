# Sourced by the other scripts: packages, CUDA headers and NVRTC, configured build. Run from anywhere; offers
#   setup_packages    the distribution's packages (Debian 12: installs what is missing)
#   setup_cuda        sets CUDA_INCLUDE and NVRTC_INCLUDE; the program finds the library by itself
#   configure PRESET  CMake with all of this
#   python_environment NAME WHEELS...   build/NAME: a virtual environment that holds exactly these
# Honours WARPWRIGHT_WHEELS (a folder of wheels for machines without a network) and pip's and apt's own settings.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

PACKAGES="g++ cmake ninja-build pkg-config python3 python3-venv libfmt-dev nlohmann-json3-dev libssl-dev libsqlite3-dev
  libprotobuf-dev protobuf-compiler libonnx-dev libxgboost-dev libcli11-dev"
TEST_PACKAGES="libgtest-dev libgmock-dev libbenchmark-dev clang-format clang-tidy"

# The wheels that stand in for an installed toolkit.
NVRTC_WHEEL=nvidia-cuda-nvrtc==13.0.88
RUNTIME_WHEEL=nvidia-cuda-runtime==13.0.96

# What scripts/quantize runs on.
QUANTIZER_WHEELS="onnxruntime==1.23.2 onnx==1.19.1 numpy==2.3.5 sympy==1.14.0"

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 3; }

missing_packages() {
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || printf '%s ' "$package"
  done
}

setup_packages() {
  local wanted="$PACKAGES ${*:-}" missing id=unknown version=
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && echo "${ID:-unknown}")
    version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is $id $version, not Debian 12: please see to it that your distribution's forms of these are installed:"
    printf '   %s\n' $wanted >&2
    return 0
  fi
  missing=$(missing_packages $wanted)
  [ -n "$missing" ] || return 0
  if [ "$id" != debian ] || [ "$version" != 12 ]; then
    die "this is $id $version, not Debian 12; these packages are missing: $missing- install them, then run this again"
  fi
  local sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing, and there is neither root nor sudo: $missing"
    sudo=sudo
  fi
  say "installing $missing"
  $sudo apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -q -y --no-install-recommends $missing >&2
}

# An installed toolkit, else the pinned wheels unpacked into build/nvrtc.
setup_cuda() {
  local toolkit
  for toolkit in "${CUDA_HOME:-}" /usr/local/cuda /usr/lib/cuda /opt/cuda; do
    if [ -n "$toolkit" ] && [ -r "$toolkit/include/cuda.h" ] && [ -r "$toolkit/include/nvrtc.h" ] &&
        ls "$toolkit"/lib64/libnvrtc.so.1[23] >/dev/null 2>&1; then
      CUDA_INCLUDE=$toolkit/include NVRTC_INCLUDE=$toolkit/include
      return 0
    fi
  done
  local wheels=$ROOT/build/nvrtc
  if [ ! -r "$wheels/complete" ]; then
    say "no CUDA toolkit found: unpacking the wheels $NVRTC_WHEEL and $RUNTIME_WHEEL into build/nvrtc"
    local work
    work=$(mktemp -d)
    python3 -m venv "$work/venv"
    "$work/venv/bin/python" -m pip download -q --no-deps -d "$work" ${WARPWRIGHT_WHEELS:+--no-index --find-links "$WARPWRIGHT_WHEELS"} \
      "$NVRTC_WHEEL" "$RUNTIME_WHEEL" || { rm -rf "$work"; die "the wheels cannot be downloaded; put them into a folder and name it in WARPWRIGHT_WHEELS"; }
    rm -rf "$wheels" && mkdir -p "$wheels"
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$wheels"; done
    rm -rf "$work"
    touch "$wheels/complete"
  fi
  CUDA_INCLUDE=$wheels/nvidia/cu13/include NVRTC_INCLUDE=$wheels/nvidia/cu13/include
}

python_environment() {
  local environment=$ROOT/build/$1 wheels=${*:2}
  [ "$(cat "$environment/wheels" 2>/dev/null)" != "$wheels" ] || return 0
  say "installing $wheels into build/$1"
  rm -rf "$environment"
  mkdir -p "$ROOT/build"
  python3 -m venv "$environment" || die "python3 -m venv failed; Debian needs the package python3-venv"
  "$environment/bin/pip" install -q ${WARPWRIGHT_WHEELS:+--no-index --find-links "$WARPWRIGHT_WHEELS"} $wheels >&2 ||
    die "the wheels cannot be installed; put them into a folder and name it in WARPWRIGHT_WHEELS"
  echo "$wheels" >"$environment/wheels"
}

configure() {
  local preset=$1
  shift
  local launcher=
  if command -v ccache >/dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  mkdir -p "$ROOT/build"
  export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1  # one cache for all checkouts
  (cd "$ROOT" && cmake --preset "$preset" -DCUDA_HEADERS="$CUDA_INCLUDE" -DNVRTC_HEADERS="$NVRTC_INCLUDE" \
    $launcher "$@" >"$ROOT/build/configure.log" 2>&1) ||
    { cat "$ROOT/build/configure.log" >&2; die "CMake could not configure the build"; }
}
