package acptest

import "flag"

// UpdateFlag declares the flag -update, with which [Golden] writes its files anew, unless the
// test binary has one. Call it in TestMain, where the flags of all packages are declared. A
// package without it answers -update with Go's usage, and fails.
func UpdateFlag() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write golden files anew")
	}
}

// updating reports whether golden files are to be written.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}
