package conform

import (
	"strconv"

	"github.com/errand-acp/errand/internal/proc"
)

// survivors lists the processes that belong to a run, but for its first one: those that
// the end of the run would end.
func survivors(p *proc.Process) (list []string, known bool) {
	others, known := p.Others()
	for _, other := range others {
		list = append(list, other.Command+" (pid "+strconv.Itoa(other.PID)+")")
	}
	return list, known
}
