package subagent

import (
	"fmt"
	"os"
	"strconv"

	"github.com/errand-acp/errand/client"
)

// The environment variables that bound how deep delegations go. The ACP provider sets both
// for every agent, after everything else that makes its environment, and goes by its own:
// so the limit holds along a chain of processes, as long as the programs in it pass their
// environment on. What client.Start alone starts is no delegation, and is told nothing.
const (
	// DepthVariable is how many delegations through Errand there are above a process;
	// where it is not set there are none.
	DepthVariable = "ERRAND_DEPTH"
	// MaxDepthVariable is the depth at which a process can delegate no further.
	MaxDepthVariable = "ERRAND_MAX_DEPTH"
)

// DefaultMaxDepth is how deep delegations go where nobody says.
const DefaultMaxDepth = 8

// depth is where a process stands in a chain of delegations.
type depth struct{ at, limit int }

// env tells a process where it stands.
func (d depth) env() []string {
	return []string{DepthVariable + "=" + strconv.Itoa(d.at), MaxDepthVariable + "=" + strconv.Itoa(d.limit)}
}

// childDepth is where an agent would stand that this process starts now. limit is the
// provider's own, levels what the request leaves the agent. Each can only narrow what the
// environment says.
func childDepth(limit int, levels *int) (depth, error) {
	at, _, err := depthVariable(DepthVariable)
	if err != nil {
		return depth{}, err
	}
	inherited, told, err := depthVariable(MaxDepthVariable)
	if err != nil {
		return depth{}, err
	}
	switch {
	case limit == 0 && told:
		limit = inherited
	case limit == 0:
		limit = DefaultMaxDepth
	case told:
		limit = min(limit, inherited)
	}
	if at >= limit {
		return depth{}, &Error{
			Kind: client.KindLimit, Step: client.StepConfig,
			Message: fmt.Sprintf("delegations are %d deep here, and no more than %d are allowed", at, limit),
		}
	}
	child := depth{at: at + 1, limit: limit}
	if levels != nil && *levels < limit-child.at {
		child.limit = child.at + *levels
	}
	return child, nil
}

// depthVariable reads one of the variables. One that cannot be read is an error: it must
// not become no limit.
func depthVariable(name string) (value int, set bool, err error) {
	text, set := os.LookupEnv(name)
	if !set {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > 1<<30 {
		// Without the value: whatever it is, it is not what it should be.
		return 0, true, configError("the variable %s in the environment is not a whole number from 0 on", name)
	}
	return int(n), true, nil
}
