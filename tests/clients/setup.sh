#!/bin/sh
# Installs the official MCP clients that the end-to-end tests drive, pinned by the files
# beside this script, into target/clients/. Does nothing when they are there already.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${SEAM_CLIENTS:-$here/../../target/clients}
mkdir -p "$target"
target=$(CDPATH='' cd -- "$target" && pwd)

need() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "clients: $1 is missing; install $2 and run this again" >&2
        exit 1
    }
}

# fresh NAME FILE...: whether what is installed under NAME was made from these files.
fresh() {
    name=$1
    shift
    cat "$@" | cksum >"$target/.$name.want"
    [ -d "$target/$name" ] && cmp -s "$target/.$name.want" "$target/.$name.have"
}

installed() {
    mv "$target/.$1.want" "$target/.$1.have"
}

need python3 "Python 3.10 or newer with its venv module"
if fresh python "$here/python/requirements.txt"; then
    echo "clients: the Python SDK is up to date"
else
    echo "clients: installing the Python SDK"
    rm -rf "$target/python"
    python3 -m venv "$target/python"
    "$target/python/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        -r "$here/python/requirements.txt"
    "$target/python/bin/pip" --disable-pip-version-check check
    installed python
fi

need node "Node.js 20 or newer"
need npm "npm"
if fresh inspector "$here/inspector/package.json" "$here/inspector/package-lock.json"; then
    echo "clients: the inspector is up to date"
else
    echo "clients: installing the inspector"
    rm -rf "$target/inspector"
    mkdir -p "$target/inspector"
    cp "$here/inspector/package.json" "$here/inspector/package-lock.json" "$target/inspector/"
    npm ci --prefix "$target/inspector" --ignore-scripts --no-audit --no-fund --silent
    installed inspector
fi
