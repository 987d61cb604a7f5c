#!/bin/sh
# Greets someone: greet.sh NAME [LANGUAGE]
here=$(dirname "$0")

name=$1
language=${2:-en}
greeting=$here/greetings/$language.txt

if [ -z "$name" ]; then
  echo "usage: greet.sh NAME [LANGUAGE]" >&2
  exit 2
fi
if [ ! -f "$greeting" ]; then
  echo "greet.sh: I do not speak '$language' yet" >&2
  exit 1
fi

while IFS= read -r line; do
  printf '%s%s%s\n' "${line%%NAME*}" "$name" "${line#*NAME}"
done < "$greeting"
