#!/bin/sh
# Runs every test and prints a line for each.
failed=0
number=0
check() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1: expected '$2', got '$3'"
        failed=1
    fi
}
for file in test/*.test; do
    if [ -e "$file" ]; then . "./$file"; fi
done
exit $failed
