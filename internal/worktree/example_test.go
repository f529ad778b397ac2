package worktree_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/errand-acp/errand/internal/worktree"
)

// Something is done to a copy of a project, and what has changed there is shown.
func Example() {
	ctx := context.Background()
	tree, err := worktree.New(ctx, "/home/me/project/parser", worktree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Remove(ctx)
	if err := os.WriteFile(filepath.Join(tree.Dir, "notes"), []byte("a note\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	diff, err := tree.Diff(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range diff.Changes {
		fmt.Println(c.Status, c.Path)
	}
	fmt.Print(diff.Patch)
}
