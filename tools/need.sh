# Sourced by ./run and ./test: finds a tool, or installs Debian's package for it, or says in one line what is missing.

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

need_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  command -v cargo >/dev/null || die "cargo is missing: install a Rust toolchain, 1.95 or later (rustup.rs)"
  need cc build-essential
  need make build-essential
}

# Debian keeps the server's programs out of PATH; tools/postgres looks in the same places.
need_postgres() {
  local PATH=$PATH${PG_BIN:+:$PG_BIN}
  PATH+=$(printf ':%s' /usr/lib/postgresql/*/bin)
  need initdb postgresql
}
