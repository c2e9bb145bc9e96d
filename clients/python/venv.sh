# Sourced by ./generate and ./test: a virtual environment in the target folder, made anew when requirements.lock has changed.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
made=$root/target/clients/python
venv=$made/venv
export PYTHONPYCACHEPREFIX=$made/pycache MYPY_CACHE_DIR=$made/mypy PIP_DISABLE_PIP_VERSION_CHECK=1

if ! cmp -s "$here/requirements.lock" "$venv/requirements.lock"; then
  mkdir -p "$made"
  python3 -m venv --clear "$venv" || { echo "clients/python: Python 3.11 or later with venv is needed (Debian: python3-venv)" >&2; exit 1; }
  "$venv/bin/pip" install --quiet --no-deps --requirement "$here/requirements.lock"
  cp "$here/requirements.lock" "$venv/requirements.lock"
fi
