package script

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// openDescriptors lists the descriptors that this process was started with: those that
// a program that it starts would get too. What Go opens is not among them.
func openDescriptors() string {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir)
	var numbers []int
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var lines []string
	for _, n := range numbers {
		if to, err := os.Readlink(dir + "/" + strconv.Itoa(n)); err == nil {
			lines = append(lines, strconv.Itoa(n)+" "+to)
		}
	}
	return strings.Join(lines, "\n")
}
