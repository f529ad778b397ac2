package replay

import (
	"slices"
	"strings"
)

// capabilities is where initialize says what the client is able to.
const capabilities = "params.clientCapabilities"

// byDefault are the objects that the schema has where they are left out, with nothing but
// false in them: an empty one says nothing. Any other, such as planCapabilities, says yes by
// being there.
// See https://agentclientprotocol.com/protocol/schema#clientcapabilities.
var byDefault = []string{capabilities, capabilities + ".auth", capabilities + ".fs"}

// sayNo reports whether both values are at a capability, and say that there is none.
func sayNo(path string, recorded, live any) bool {
	return strings.HasPrefix(path, capabilities) && saysNo(path, recorded) && saysNo(path, live)
}

func saysNo(path string, v any) bool {
	switch v := v.(type) {
	case nil, absent:
		return true
	case bool:
		return !v
	case map[string]any:
		for name, value := range v {
			if name != "_meta" && !saysNo(path+"."+name, value) {
				return false
			}
		}
		return slices.Contains(byDefault, path)
	}
	return false
}
