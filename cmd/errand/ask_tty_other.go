//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import (
	"context"
	"errors"
)

func openTTY(context.Context, *console) (questionTTY, error) {
	return nil, errors.New("this program cannot ask on one on this system")
}
