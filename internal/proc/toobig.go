package proc

import (
	"fmt"
	"strconv"
)

// tooBig says which of what is given to a program makes it more than the system takes.
// It names a variable, and of an argument the place: its text may be a secret.
func tooBig(argv, env []string) string {
	var largest string
	var most, args, variables int
	see := func(what string, size int) {
		if size > most {
			largest, most = what, size
		}
	}
	for i, arg := range argv {
		args += len(arg) + 1
		see("argument "+strconv.Itoa(i), len(arg))
	}
	for i, entry := range env {
		variables += len(entry) + 1
		see("the variable "+variable(env, i), len(entry))
	}
	return fmt.Sprintf("%d bytes of arguments and %d of environment are more than the system takes; the largest is %s with %d",
		args, variables, largest, most)
}
