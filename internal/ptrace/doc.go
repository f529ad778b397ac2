// Package ptrace lets tests on Linux catch a process that is on its way out: one that
// has been ended and is not gone.
package ptrace
