# What the tests share. Run from the repository's root.

wrong=0

# equals WHAT EXPECTED ACTUAL
equals() {
  if [ "$2" != "$3" ]; then
    echo "  $1: expected '$2', got '$3'"
    wrong=1
  fi
}

# finish: the last line of every test
finish() {
  exit "$wrong"
}
