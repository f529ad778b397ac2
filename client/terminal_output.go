package client

import (
	"strings"
	"sync"

	"github.com/errand-acp/errand/internal/proc"
)

// screen keeps the end of what a command writes, in bytes. The zero value keeps nothing.
type screen struct {
	limit int

	mu    sync.Mutex // guards what is below it: the agent asks while the command writes
	kept  []byte     // at most twice the limit
	total int
}

func (s *screen) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += len(p)
	if len(p) > s.limit {
		p = p[len(p)-s.limit:]
	}
	if len(s.kept)+len(p) > 2*s.limit {
		n := copy(s.kept, s.kept[len(s.kept)-min(len(s.kept), s.limit):])
		s.kept = s.kept[:n]
	}
	s.kept = append(s.kept, p...)
}

// text is what is kept, from a character on, and whether it is not all. The limit is
// one of the text that is returned: a byte that is no character takes three there.
func (s *screen) text() (text string, truncated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept[len(s.kept)-min(len(s.kept), s.limit):]
	truncated = s.total > len(kept)
	if truncated {
		kept = proc.WholeStart(kept)
	}
	text = strings.ToValidUTF8(string(kept), "\uFFFD")
	if over := len(text) - s.limit; over > 0 {
		return string(proc.WholeStart([]byte(text)[over:])), true
	}
	return text, truncated
}

func (s *screen) count() (total int, truncated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.total > s.limit
}
