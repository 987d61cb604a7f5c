#!/bin/sh
# Runs every test in tests/ and says which one failed.
cd "$(dirname "$0")" || exit 1

failed=0
for test in tests/*.sh; do
  if sh "$test"; then
    echo "ok    $test"
  else
    echo "FAIL  $test"
    failed=1
  fi
done
exit "$failed"
