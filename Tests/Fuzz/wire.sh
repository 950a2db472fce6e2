#!/bin/sh
# Fuzzes the control language: wire.sh [SECONDS] (60). A crash leaves its input beside the build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../.build/fuzz
mkdir -p "$build/corpus"
swiftc -swift-version 6 -package-name imgd -parse-as-library -O -g -sanitize=fuzzer,address \
  "$here"/wire.swift "$here"/../../Sources/ImgdWire/*.swift -o "$build/wire"
for line in '{"cmd":"fetch","id":7,"url":"http://h/a.jpg","tags":["a"],"resize":{"width":1.0}}' \
  '{"cmd":"purge","older_than":1e3,"x_a":{"b":[null,-0.5e-1]}}' '#\r\n{"id":"\ud83d\ude00"}'; do
  printf '%s\n' "$line" >"$build/corpus/$(printf '%s' "$line" | cksum | cut -d' ' -f1)"
done
# The backtracer of Swift would hold the fuzzer up before it can write the input down.
export SWIFT_BACKTRACE=enable=no
cd "$build" && exec ./wire -max_total_time="${1:-60}" -max_len=4096 -print_final_stats=1 corpus
