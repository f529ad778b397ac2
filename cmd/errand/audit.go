package main

import "os"

// auditIncomplete is how a warning begins where lines of the audit are missing, the
// library's too.
const auditIncomplete = "the audit is not complete"

// openAudit opens the file of --audit. Lines of several runs may go to one file: each is
// written at its end, in one piece.
func openAudit(name string, stdout *os.File) (*recordFile, error) {
	return openRecord("--audit", auditIncomplete, name, stdout)
}
