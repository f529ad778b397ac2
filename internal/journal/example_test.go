package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/errand-acp/errand/internal/journal"
)

func Example() {
	base, err := os.MkdirTemp("", "journal-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)
	dir, tasks := filepath.Join(base, "journal"), []journal.Task{{Name: "first", Digest: "…"}}

	j, err := journal.Create(dir, tasks)
	if err != nil {
		panic(err)
	}
	j.Run(0).Append([]byte(`{"type":"start"}`))
	j.Run(0).End([]byte(`{"type":"end"}`))
	j.Close()

	j, err = journal.Resume(dir, tasks)
	if err != nil {
		panic(err)
	}
	defer j.Close()
	for line := range j.Run(0).Lines() {
		fmt.Printf("%s\n", line)
	}
	// Output:
	// {"type":"start"}
	// {"type":"end"}
}
