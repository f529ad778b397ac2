package subagent

import (
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client"
)

// Capability is something a request can ask for that not every provider offers.
type Capability string

// The capabilities, each with the field of Request that asks for it.
const (
	CapabilityModel        Capability = "model"         // Request.Model
	CapabilityMode         Capability = "mode"          // Request.Mode
	CapabilityOutputSchema Capability = "output_schema" // Request.OutputSchema
	CapabilityMaxDepth     Capability = "max_depth"     // Request.MaxDepth
	CapabilityToolFilter   Capability = "tool_filter"   // Request.Tools
	CapabilityTranscript   Capability = "transcript"    // Request.Transcript
)

// Needs returns the capabilities that r asks for, in the order of the list above.
func (r *Request) Needs() []Capability {
	var need []Capability
	for _, n := range []struct {
		capability Capability
		asked      bool
	}{
		{CapabilityModel, r.Model != ""},
		{CapabilityMode, r.Mode != ""},
		{CapabilityOutputSchema, r.OutputSchema != nil},
		{CapabilityMaxDepth, r.MaxDepth != nil},
		{CapabilityToolFilter, r.Tools != nil},
		{CapabilityTranscript, r.Transcript != nil},
	} {
		if n.asked {
			need = append(need, n.capability)
		}
	}
	return need
}

// CheckCapabilities returns an error of kind capability if r asks for something
// that p does not offer. Every provider's Start does this before it starts
// anything, so that nothing asked for is accepted and then ignored.
func CheckCapabilities(p Provider, r *Request) error {
	offered := p.Capabilities()
	for _, c := range r.Needs() {
		if !slices.Contains(offered, c) {
			return &Error{
				Kind: client.KindCapability, Step: client.StepConfig, Provider: p.Name(), Capability: c,
				Message: fmt.Sprintf("provider %q does not offer %s", p.Name(), c),
			}
		}
	}
	return nil
}
