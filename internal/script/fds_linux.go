package script

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// openDescriptors lists this process's descriptors, save those of Go's poller and of
// the listing itself.
func openDescriptors() string {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir)
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var lines []string
	for _, n := range numbers {
		to, err := os.Readlink(dir + "/" + strconv.Itoa(n))
		if err == nil && !strings.HasPrefix(to, "anon_inode:[event") {
			lines = append(lines, strconv.Itoa(n)+" "+to)
		}
	}
	return strings.Join(lines, "\n")
}
