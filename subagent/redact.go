package subagent

import "encoding/json"

// redactPtr replaces secrets in what may be absent.
func redactPtr(s *string, redact func(string) string) *string {
	if s == nil {
		return nil
	}
	text := redact(*s)
	return &text
}

// redactMeta replaces secrets in an agent's _meta, wherever in it they are.
func redactMeta(meta map[string]any, redact func(string) string) map[string]any {
	if meta == nil {
		return nil
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return nil
	}
	var clean map[string]any
	// What stands in a secret's place keeps it JSON; were it not, nothing is better.
	if json.Unmarshal([]byte(redact(string(text))), &clean) != nil {
		return nil
	}
	return clean
}
