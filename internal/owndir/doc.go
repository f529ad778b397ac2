// Package owndir makes directories for programs that are not trusted, and removes them
// afterwards whatever these made of them and put in their place.
//
//	dir, err := owndir.Make("", "errand-example-")
//	...
//	// … a program has dir.Path() for its own, and has ended …
//	err = dir.Remove(ctx)
//
// Nothing outside is read, changed or removed through a link that was put there, and
// nothing is opened that could be waited for without end.
package owndir
