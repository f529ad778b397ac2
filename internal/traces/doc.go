// Package traces reads what a scripted agent leaves behind for a test to look at: the
// lines that it has read, the files in its directory, and the processes whose ids it
// has written into those.
//
//	tr := traces.New(t)
//	path, args := script.Command(t, tr.Recording(`on session/prompt; write pid "$pid"`))
//	... // a run of that in tr.Dir, from start to close
//	tr.Params("session/prompt") // what it was asked
//	tr.Reaped("pid")            // and that it is gone
package traces
