#!/bin/sh
# Installs the real model into a virtual environment and serves it.
#
#   run.sh DIR [options of serve.py]
#
# DIR is made on the first use (about 180 MB) and kept for the next ones. Needs python3 of at least
# 3.10 with venv, and a package index. Prints `READY URL` on stdout; ends on SIGTERM.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?name the directory of the virtual environment}
shift

# The copy is written last: a directory without it, or with another one, is installed anew.
if ! cmp -s "$here/requirements.txt" "$dir/installed.txt"; then
    rm -rf "$dir"
    python3 -m venv "$dir" >&2
    "$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
        -r "$here/requirements.txt" >&2
    cp "$here/requirements.txt" "$dir/installed.txt"
fi
exec "$dir/bin/python" "$here/serve.py" "$@"
