// Package redact takes secret values out of what we show: stderr, errors, titles,
// logs, transcripts.
//
//	r := redact.New(envscrub.Secrets(os.Environ(), policy))
//	fmt.Println(r.String("login failed for hunter2hunter2")) // login failed for [redacted]
//	stderr := r.Writer(os.Stderr)
//	defer stderr.Close()
//
// Redact before anything is cut: the half of a secret that is left at a cut is not
// found any more.
//
// The package is pure: no I/O of its own, no goroutine.
package redact
