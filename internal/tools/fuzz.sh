#!/bin/sh
# Runs each fuzz target of the given packages for FUZZTIME.
#
#	FUZZTIME=20s internal/tools/fuzz.sh ./...
#
# Making inputs smaller is counted, not timed: the targets with goroutines, which never
# cover the same twice, would spend their time on it.
set -u
pkgs=$(go list "$@") || exit 1
for pkg in $pkgs; do
	targets=$(go test -list '^Fuzz' "$pkg") || { echo "$targets"; exit 1; }
	for target in $(echo "$targets" | grep '^Fuzz'); do
		echo "== $pkg $target"
		out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime 20x "$pkg" 2>&1) && { echo "$out" | tail -n 3; continue; }
		echo "$out"
		case $out in
		*"Failing input"*) exit 1 ;;
		# The end of its time may fail a target that has found nothing, up to Go 1.27.
		*"context deadline exceeded"*) echo "no input failed: that was go.dev/issue/75804" ;;
		*) exit 1 ;;
		esac
	done
done
