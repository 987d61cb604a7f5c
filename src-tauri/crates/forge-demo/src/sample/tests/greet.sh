. tests/lib/assert.sh

equals "English is the default" "Hello, Ada!" "$(sh src/greet.sh Ada)"
equals "German" "Hallo, Ada!" "$(sh src/greet.sh Ada de)"
equals "a name with spaces" "Hello, Ada Lovelace!" "$(sh src/greet.sh 'Ada Lovelace')"

sh src/greet.sh Ada xx 2>/dev/null
equals "an unknown language fails" 1 $?
sh src/greet.sh 2>/dev/null
equals "no name is a usage error" 2 $?

finish
