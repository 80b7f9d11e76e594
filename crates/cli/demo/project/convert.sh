#!/bin/sh
# Converts between units: convert.sh WHAT NUMBER
case "$1" in
*)
    echo "nothing can be converted yet"
    exit 1
    ;;
esac
