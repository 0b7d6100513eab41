#!/bin/sh
# Write requirements.txt for a content repository's pipeline: the program and what it needs to publish, each in
# one version and with its hashes, so that no run installs other code than the one that was tried.
#   sh lock.sh https://…/shopwindow-0.1.0-py3-none-any.whl        (or file:///…: a wheel that lies in the repository)
# Run it where the pipeline's Python is (3.12), look at what changed, and commit it.
set -eu
: "${1:?must be the address of the wheel}"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet 'pip-tools>=7.4,<8'
printf 'shopwindow[delivery] @ %s\n' "$1" >"$tools/requirements.in"
"$tools/venv/bin/pip-compile" --quiet --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.txt "$tools/requirements.in"
