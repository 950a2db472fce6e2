#!/bin/bash
# Shows what imgd does, with a daemon and an origin of its own, on this machine alone:
#
#   docs/demo.sh [DIRECTORY]     the directory that holds imgd, imgd-decoder and imgctl; .build/release
#
# Every command is printed before it runs, so that it can be tried by hand; every answer is checked,
# so that the demo fails when something it shows is not true. `make demo` builds and calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=$(realpath "${1:-.build/release}")
# Servers lie where an ordinary user's PATH does not lead.
PATH=$binaries:$PATH:/usr/sbin
place=$(mktemp -d "${TMPDIR:-/tmp}/imgd-demo.XXXXXX")
export IMGD_SOCKET=$place/imgd.sock
started=()

clean_up() {
  trap - EXIT INT TERM
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$place"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  printf 'demo: %s\n' "$1" >&2
  [ -z "${2:-}" ] || cat "$2" >&2
  exit 1
}

for program in imgd imgd-decoder imgctl nginx socat jq; do
  command -v "$program" >/dev/null || die "$program is missing: run 'make demo', which sees to it"
done

# --- What is shown, and how ---

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

# Prints a command, runs it, and prints what it answered; `answer` keeps that for the check.
run() {
  printf '$ %s\n' "$1"
  answer=$(eval "$1") || die "this command failed: $1" "$place/imgd.log"
  [ -z "$answer" ] || printf '%s\n' "$answer"
}

# Checks what the last command answered: a jq condition that all its lines together must meet.
expect() {
  jq --slurp --exit-status "$1" <<<"$answer" >/dev/null ||
    die "expected of that answer: $1" "$place/imgd.log"
}

# Waits a little for a condition that another process brings about.
await() {
  local try
  for ((try = 0; try < 100; try++)); do
    if "$@"; then return; fi
    sleep 0.05
  done
  return 1
}

# --- Pictures: grey PNG files, made here ---

# Four bytes, as printf writes them.
big_endian() {
  printf '\\x%02x\\x%02x\\x%02x\\x%02x' \
    $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255))
}

# gzip ends in the checksum that a chunk ends in, over the same bytes.
chunk() {
  local name=$1 body=$2 sum
  { printf '%s' "$name" && cat "$body"; } >"$body.named"
  sum=$(gzip -nc "$body.named" | tail -c 8 | od -An -tu4 -N4)
  printf "$(big_endian "$(stat -c %s "$body")")"
  cat "$body.named"
  printf "$(big_endian "$sum")"
}

# A gradient with some noise in it, which keeps large pictures large.
picture() {
  local width=$1 height=$2 raw=$place/raw sum
  printf "$(LC_ALL=C awk -v width="$width" -v height="$height" 'BEGIN {
    for (y = 0; y < height; y++) {
      printf "\\x00"
      for (x = 0; x < width; x++) {
        noise = (noise * 1103 + 12345) % 65536
        printf "\\x%02x", int(192 * (x + y) / (width + height) + noise / 1024)
      }
    }
  }')" >"$raw"
  sum=$(od -An -v -tu1 -w1 "$raw" | awk '{ a = (a + $1) % 65521; b = (b + a + 1) % 65521; n++ }
    END { printf "%.0f", b * 65536 + (a + 1) % 65521 }')
  # What gzip compresses is what PNG wants, between another head and another end.
  {
    printf '\x78\x9c'
    gzip -nc "$raw" | tail -c +11 | head -c -8
    printf "$(big_endian "$sum")"
  } >"$raw.data"
  printf "$(big_endian "$width")$(big_endian "$height")"'\x08\x00\x00\x00\x00' >"$raw.head"
  : >"$raw.end"
  printf '\x89PNG\r\n\x1a\n'
  chunk IHDR "$raw.head"
  chunk IDAT "$raw.data"
  chunk IEND "$raw.end"
}

mkdir "$place/www" "$place/pictures"
picture 16 16 >"$place/www/small.png"
picture 96 64 >"$place/www/medium.png"
picture 320 240 >"$place/www/large.png"
ln "$place/www/large.png" "$place/www/slow.png"
cp docs/images/landscape.png "$place/www"

# --- An origin that serves them, and slow.png slowly ---

serve() {
  cat >"$place/nginx.conf" <<END
daemon off;
master_process off;
pid $place/nginx.pid;
error_log $place/nginx.log;
events { worker_connections 256; }
http {
  types { image/png png; }
  access_log $place/access.log;
  client_body_temp_path $place/nginx-temp;
  proxy_temp_path $place/nginx-temp;
  fastcgi_temp_path $place/nginx-temp;
  uwsgi_temp_path $place/nginx-temp;
  scgi_temp_path $place/nginx-temp;
  server {
    listen 127.0.0.1:$1;
    root $place/www;
    expires 1h;
    location = /slow.png { limit_rate 24k; }
  }
}
END
  nginx -c "$place/nginx.conf" -p "$place" -e "$place/nginx.log" &
  local pid=$!
  # The file comes once the port is taken; another program may have had it.
  is_serving() { [ -s "$place/nginx.pid" ] || ! kill -0 "$pid" 2>/dev/null; }
  await is_serving || true
  if kill -0 "$pid" 2>/dev/null; then started+=("$pid"); else return 1; fi
}

for try in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 20000))
  if serve $port 2>/dev/null; then break; fi
  [ $try -lt 5 ] || die 'nginx could not be started:' "$place/nginx.log"
done
origin=http://127.0.0.1:$port

requests_for() { grep -c "GET $1 " "$place/access.log" || true; }

# --- The daemon ---

start_imgd() {
  imgd --socket "$IMGD_SOCKET" --cache-directory "$place/cache" >>"$place/imgd.log" 2>&1 &
  daemon=$!
  started+=($daemon)
  await imgctl ping >/dev/null 2>&1 || die 'imgd did not start:' "$place/imgd.log"
}
start_imgd

# --- The show ---

say 'Fetch a picture. The daemon downloads it, and says which file it is in:'
run "imgctl fetch $origin/small.png"
cmp -s "$place/www/small.png" "$answer" || die 'that file is not the picture'

say 'Into a file of your own, this time from memory:'
run "imgctl fetch $origin/small.png -o $place/pictures"
cmp -s "$place/www/small.png" "$place/pictures/small.png" || die 'the file is not the picture'

say 'Any program can do it that writes a line to a socket:'
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/medium.png\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,source,format,width,height,bytes}'"
expect 'length == 1 and .[0].ok and .[0].source == "network" and .[0].width == 96'

say 'Again: a hit. The origin is not asked.'
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/medium.png\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,source,age,fresh_for,elapsed_ms}'"
expect '.[0].ok and .[0].source == "memory"'

say 'Progress, for those who ask for it (this origin is slow):'
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/slow.png\",\"progress\":true}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{event,received,expected,ok} | del(.[] | nulls)'"
expect '(map(select(.event == "progress")) | length > 1) and .[0].received == 0 and .[-1].ok'

say 'A thumbnail, made by a decoder: a process of its own, which is shut off from the machine.'
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/large.png\",\"resize\":{\"width\":256}}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,format,width,height,bytes,path}'"
expect '.[0].ok and .[0].width == 256 and .[0].height == 192'

say 'Or its pixels, as a descriptor of memory that programs share. It comes with this line:'
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/large.png\",\"deliver\":\"pixels\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,source,fds}'"
expect '.[0].ok and .[0].fds[0] == {kind: "pixels", format: "rgba8", width: 320, height: 240, stride: 1280, frames: 1, bytes: 307200}'

say '50 requests for one URL that is not in the cache: one download.'
run "imgctl purge --url $origin/slow.png"
before=$(requests_for /slow.png)
run "jq -nc 'range(50) | {cmd:\"fetch\",id:.,url:\"$origin/slow.png\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -sc '{answers:length, ok:(map(select(.ok)) | length), coalesced:(map(select(.coalesced)) | length)}'"
expect '.[0] == {answers: 50, ok: 50, coalesced: 49}'
was_asked_once() { [ $(($(requests_for /slow.png) - before)) -eq 1 ]; }
await was_asked_once || die 'the origin was not asked exactly once' "$place/access.log"
echo 'The origin was asked once.'

say 'Cancel by receipt. The fetch gets its own line first:'
imgctl purge --url "$origin/slow.png" >/dev/null
receipt=5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11
run "printf '%s\\n' '{\"cmd\":\"fetch\",\"id\":1,\"url\":\"$origin/slow.png\",\"receipt\":\"$receipt\"}' '{\"cmd\":\"cancel\",\"id\":2,\"receipt\":\"$receipt\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{id,ok,code:.error.code,state}'"
expect 'length == 2 and .[0].id == 1 and .[0].code == "cancelled" and .[1].id == 2 and .[1].ok'

say 'What the daemon counted:'
run "imgctl stats --json | jq -c '{memory,disk,downloads} | map_values(del(.capacity,.preferred))'"
expect '.[0].memory.hits >= 2 and .[0].disk.entries >= 2 and .[0].downloads.coalesced >= 49'

say 'Pictures outlive the daemon. Its successor has them on disk:'
kill "$daemon" && wait "$daemon" || die 'imgd did not stop in good order:' "$place/imgd.log"
start_imgd
run "echo '{\"cmd\":\"fetch\",\"url\":\"$origin/medium.png\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,source,path}'"
expect '.[0].ok and .[0].source == "disk"'

say 'Remove pictures from the cache, and see that one is gone:'
run 'imgctl purge --all --yes'
run "echo '{\"cmd\":\"query\",\"url\":\"$origin/medium.png\"}' | socat - UNIX-CONNECT:\$IMGD_SOCKET | jq -c '{ok,tier}'"
expect '.[0] == {ok: true, tier: "none"}'

# The last command must leave its picture in the terminal, so nothing reads along.
say 'A picture that one can see:'
if [ -t 1 ]; then
  printf '$ imgctl show %s\n' "$origin/landscape.png"
  imgctl show "$origin/landscape.png" --size 60x20 || die 'the picture was not shown:' "$place/imgd.log"
else
  run "imgctl thumbnail $origin/landscape.png -o $PWD/.build/landscape.webp --force --format webp"
  [ -s .build/landscape.webp ] || die 'there is no thumbnail'
fi

say 'Done. The cache also has a page, http://localhost:8080/, once this command has built and started the gateway:'
echo 'make page'
