package client

import (
	"io/fs"
	"os"
)

// openNow is nothing: an open does not wait here.
const openNow = 0

// keepOwner does nothing: a new file has the owner and the rights of its directory.
func keepOwner(*os.File, fs.FileInfo) {}
