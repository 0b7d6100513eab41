#!/bin/sh
# Build content/, upload the release, point current.json at it, purge what changed.
# Exit 0: done. 3: uploaded, but current.json is pinned and left alone. Anything else: failed.
set -eu
: "${BUCKET:?must name the bucket}"
fail() { echo "publish.sh: $*" >&2; exit 1; }
has() { # whether the store has a file; a store that cannot say ends the run
  found=$(aws s3api list-objects-v2 --bucket "$BUCKET" --prefix "$1" --query "Contents[?Key=='$1'].Key" --output text) ||
    fail "the store cannot be read"
  [ "$found" = "$1" ]
}
get() { aws s3 cp --only-show-errors "s3://$BUCKET/$1" "dist/$1" || fail "$1 was not fetched"; }
put() {
  aws s3 cp --only-show-errors "dist/$1" "s3://$BUCKET/$1" --content-type "$2" --cache-control no-cache ||
    fail "$1 was not uploaded"
}
current() { python3 -c 'import json; print(json.load(open("dist/current.json"))["id"])' || fail "current.json is broken"; }
point() { # current.json at release $1, pinned or not
  printf '{"format":1,"id":"%s","switched":"%s","pinned":%s}\n' \
    "$1" "$(date -u +%Y-%m-%dT%H:%M:%S+00:00)" "$2" >dist/current.json
}
upload() { # releases/<id>: one command for each media type and lifetime, over a tree of links
  if has "$1/manifest.json"; then return; fi
  python3 - "dist/$1" <<'END' || fail "$1 cannot be staged"
import json, os, sys
for entry in json.load(open(sys.argv[1] + "/manifest.json", "rb"))["files"]:
    link = "dist/upload/{mediaType}/{lifetime}/{path}".format(**entry)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.link(sys.argv[1] + "/files/" + entry["path"], link)
END
  for group in dist/upload/*/*/*; do
    type=${group#dist/upload/}
    aws s3 cp --only-show-errors --recursive "$group" "s3://$BUCKET/$1/files" --content-type "${type%/*}" \
      --cache-control "max-age=${group##*/}" || fail "$1 was not uploaded"
  done
  put "$1/manifest.json" application/json
}

mkdir dist || fail "remove dist/: a run begins with what the store holds"
old='' status=0
if has current.json; then # else this is the first run
  get current.json
  old=$(current)
  get "releases/$old/manifest.json"
  cp dist/current.json dist/fetched.json
fi
if has purge.txt; then get purge.txt; fi
if [ "${PIN:-none}" = none ]; then
  if [ -n "${PIN-}" ] && [ -n "$old" ]; then point "$old" false; fi
  shopwindow build || status=$?
  case $status in 0 | 3) ;; *) exit "$status" ;; esac
  for files in dist/releases/*/files; do # there is none where the current release was made again
    if [ -d "$files" ]; then upload "releases/$(basename "${files%/files}")"; fi
  done
else # back to a release of the store, and pinned there
  get "releases/$PIN/manifest.json"
  point "$PIN" true
fi
if ! cmp -s dist/current.json dist/fetched.json; then
  [ -z "$old" ] || shopwindow diff "$old" "$(current)" --urls >>dist/purge.txt
  [ ! -s dist/purge.txt ] || put purge.txt text/plain
  put current.json application/json
fi
if [ -s dist/purge.txt ]; then
  sort -u dist/purge.txt | sh -c "${PURGE:-cat}" || fail "not everything was purged; the next run tries again"
  : >dist/purge.txt
  put purge.txt text/plain
fi
exit "$status"
