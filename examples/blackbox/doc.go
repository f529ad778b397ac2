// Package blackbox is a test suite that drives an agent as a black box: it knows
// nothing of it but its command. The tests are the example.
package blackbox
