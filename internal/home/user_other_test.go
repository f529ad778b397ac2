//go:build !linux

package home

import "testing"

func asUser(t *testing.T, f func(t *testing.T)) { f(t) }
