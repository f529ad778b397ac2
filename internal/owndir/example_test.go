package owndir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/errand-acp/errand/internal/owndir"
)

func Example() {
	dir, err := owndir.Make("", "errand-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	os.WriteFile(filepath.Join(dir.Path(), "file"), nil, 0o600)
	fmt.Println(dir.Check(), dir.Remove(context.Background()))
	fmt.Println(dir.Check() != nil)
	// Output:
	// <nil> <nil>
	// true
}
