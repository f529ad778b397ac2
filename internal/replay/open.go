package replay

import (
	"errors"
	"os"

	"github.com/errand-acp/errand/client/transcript"
)

// Open returns the agent of the first conversation in a file, for whoever names it one. Every
// error names the file, and where there is one the line.
func Open(name string, o Options) (*Agent, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := transcript.Read(f)
	var a *Agent
	switch {
	case err != nil:
	case len(all) == 0:
		err = &transcript.Error{Err: errors.New("this is no transcript: no conversation in it")}
	default:
		a, err = New(all[0], o)
	}
	if bad, ok := errors.AsType[*transcript.Error](err); ok {
		bad.File = name
	}
	return a, err
}
