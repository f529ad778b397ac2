//go:build !linux

package client_test

import "testing"

func parityPlatform(*testing.T) {}

func faultsPlatform(*testing.T) {}

func parityUnkillable(t *testing.T) { t.Skip("there is no way to keep a process from ending here") }
