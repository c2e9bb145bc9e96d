# Sourced by ./run and ./test in the repository's folder: finds a tool, or installs Debian's package for it, or says in one line what is missing.

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

# need COMMAND PACKAGE…
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null || need_package "$@"
}

# For what is more than a command in PATH.
need_package() {
  command -v apt-get >/dev/null || die "$* is missing: install it and start again"
  echo "installing $*" >&2
  as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
    || die "$* could not be installed: root or sudo is needed, and Debian's packages"
}

# The toolchain that rust-toolchain.toml pins, or, where Rust does not come from rustup, that version or a later one.
need_rust() {
  local pinned
  pinned=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
  [ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
  if ! command -v rustup >/dev/null && ! has_rust "$pinned"; then
    install_rustup || die "Rust $pinned is missing and could not be installed: install rustup (rustup.rs) or Rust $pinned and start again"
  fi
  ! command -v rustup >/dev/null || need_toolchain "$pinned"
  need cc build-essential
  need make build-essential
}

# Whether rustc, cargo, clippy and rustfmt of a distribution are there, at this version or later.
has_rust() {
  local found
  for found in cargo cargo-clippy cargo-fmt; do command -v "$found" >/dev/null || return 1; done
  found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) && [ -n "$found" ] || return 1
  [ "$(printf '%s\n' "$1" "${found%%-*}" | sort -V | head -n 1)" = "$1" ]
}

need_toolchain() {
  local tool is_whole=1
  # `rustup run` installs nothing by itself, where cargo would begin to without a word.
  for tool in rustc cargo-clippy rustfmt; do rustup run "$1" "$tool" --version >/dev/null 2>&1 || is_whole=; done
  [ -z "$is_whole" ] || return 0
  echo "installing Rust $1 with rustup" >&2
  rustup toolchain install "$1" --profile minimal --component clippy --component rustfmt >&2 \
    || die "Rust $1 could not be installed: run 'rustup toolchain install $1' and start again"
}

# Debian's package where there is one, else rustup's own installer. A package that would remove others is not taken.
install_rustup() {
  if command -v apt-get >/dev/null && as_root apt-get update -qq && apt-cache show rustup >/dev/null 2>&1; then
    echo "installing rustup, Debian's package" >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove --no-install-recommends rustup >&2 && return
  fi
  if ! command -v curl >/dev/null; then
    command -v apt-get >/dev/null && (need_package curl ca-certificates) 2>/dev/null || return 1
  fi
  echo "installing rustup into $HOME/.cargo and $HOME/.rustup with its own installer, https://sh.rustup.rs" >&2
  local installer
  installer=$(mktemp)
  # The toolchain comes later, by its version. Without the path check it goes beside an older Rust of the distribution.
  curl --proto '=https' --tlsv1.2 -fs https://sh.rustup.rs -o "$installer" \
    && RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$installer" -y -q --no-modify-path --default-toolchain none >&2 \
    && rm "$installer" && . "$HOME/.cargo/env"
}

# Debian keeps the server's programs out of PATH; tools/postgres looks in the same places.
need_postgres() {
  local PATH=$PATH${PG_BIN:+:$PG_BIN}
  PATH+=$(printf ':%s' /usr/lib/postgresql/*/bin)
  need initdb postgresql
}
