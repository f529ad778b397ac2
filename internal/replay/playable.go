package replay

import (
	"fmt"
	"runtime"

	"github.com/errand-acp/errand/client/transcript"
)

// maxFilling bounds what lines are filled up with of which only the beginning was recorded, in
// bytes and in all: a recording must not make the replay write without end.
const maxFilling = 1 << 30

// playable returns what of a recording cannot be replayed, as a *transcript.Error.
func playable(t *transcript.Transcript) error {
	last, messages := -1, 0
	left := int64(maxFilling)
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.End != nil {
			last = i
			continue
		}
		if e.Bytes > left {
			return inLine(i, fmt.Errorf("bytes is %d: a replay fills lines up by no more than %d in all", e.Bytes, int64(maxFilling)))
		}
		if messages += batched(e.Frame); messages > maxBatched {
			return inLine(i, fmt.Errorf("too many messages: a replay takes no more than %d that are in arrays", maxBatched))
		}
		left -= max(e.Bytes-int64(len(e.Text)), 0)
	}
	if last >= 0 {
		if err := possible(t.Entries[last].End); err != nil {
			return inLine(last, err)
		}
	}
	return nil
}

// inLine is err in an entry, each of which has a line for itself below the header.
func inLine(entry int, err error) error { return &transcript.Error{Line: entry + 2, Err: err} }

// possible returns why a process cannot end like this here.
func possible(end *transcript.End) error {
	most := 255
	if runtime.GOOS == "windows" {
		most = 1<<32 - 1
	}
	switch {
	case end.Signal != nil && !endsProcess(*end.Signal):
		return fmt.Errorf("the agent ended by %s, which ends no process here", named(*end.Signal))
	case end.Signal == nil && end.Code != nil && (*end.Code < 0 || *end.Code > most):
		return fmt.Errorf("the agent ended with status %d, which is none here", *end.Code)
	}
	return nil
}
