package conform

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/errand-acp/errand/client/transcript"
)

// Report is what came of trying an agent. Its JSON is a contract: fields are added, and
// none is renamed or removed.
type Report struct {
	SchemaVersion int       `json:"schemaVersion"`
	StartedAt     time.Time `json:"startedAt"`
	Ms            int64     `json:"ms"`
	Command       []string  `json:"command"`
	// Agent is what the agent calls itself; nil where it does not say.
	Agent *Peer `json:"agent"`
	// ProtocolVersion is the version that it has chosen; nil where it did not.
	ProtocolVersion *int64 `json:"protocolVersion"`
	// Capabilities are its agentCapabilities as they came; null where there were none.
	Capabilities json.RawMessage `json:"capabilities"`
	// WithheldEnv names the variables that were kept from it.
	WithheldEnv []string `json:"withheldEnv"`
	Counts      Counts   `json:"counts"`
	// Tried is how many of the rules could be tried.
	Tried int `json:"tried"`
	// Incomplete says why the check says too little of the agent to be a success, though
	// nothing that was seen need be wrong: no rule could be tried, or some could not because
	// the agent does not answer, or gives no session. Empty: it is complete.
	Incomplete string        `json:"incomplete"`
	Findings   []Finding     `json:"findings"`
	Scenes     []SceneReport `json:"scenes"`
}

// Peer is the name and the version of a program, in its own words.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Counts are how many findings there are of each verdict.
type Counts struct {
	Pass          int `json:"pass"`
	Fail          int `json:"fail"`
	Warn          int `json:"warn"`
	NotApplicable int `json:"notApplicable"`
}

func (c *Counts) add(v Verdict) {
	switch v {
	case Pass:
		c.Pass++
	case Fail:
		c.Fail++
	case Warn:
		c.Warn++
	default:
		c.NotApplicable++
	}
}

// Finding is what came of one rule.
type Finding struct {
	Rule    Rule    `json:"rule"`
	Verdict Verdict `json:"verdict"`
	// Why says what was seen, or why nothing could be.
	Why string `json:"why"`
	// Scene is where it was seen; empty where it was nowhere.
	Scene string `json:"scene"`
	// Entries are the lines of the conversation that show it, as a transcript has them.
	// Long ones are cut.
	Entries []transcript.Entry `json:"entries"`

	weight int      // of the outcome
	ends   []string // what it tells to have been the end of an agent that ended by itself
}

// SceneReport is how a scene went.
type SceneReport struct {
	Name string `json:"name"`
	Ms   int64  `json:"ms"`
	// Stopped says why it was not played to its end; empty: it was.
	Stopped string `json:"stopped"`
	// Entries are what the agent wrote last to its stderr, and how it ended: that of the
	// process that ended by itself in the middle of the scene, or else of the last one.
	Entries []transcript.Entry `json:"entries"`

	died bool // it ended by itself
}

// Failed reports whether a rule of the level failOn, or of a more binding one, was broken,
// or the check is incomplete: what was not tried has not been passed. With [Never] it never is.
func (r *Report) Failed(failOn Level) bool {
	if r.Incomplete != "" && failOn != Never {
		return true
	}
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.failed(failOn) })
}

func (f Finding) broken() bool { return f.Verdict == Fail || f.Verdict == Warn }

func (f Finding) failed(failOn Level) bool {
	return f.broken() && slices.Index(levels, f.Rule.Level) <= slices.Index(levels, failOn)
}

// Never, in place of a level, is broken by nothing.
const Never Level = "never"

// levels are all levels, the most binding first.
var levels = []Level{Must, Should, Manners}

// learn takes from a recording who the agent is.
func (r *Report) learn(rec *recording) {
	c, no := rec.result("initialize")
	if no != nil {
		return
	}
	var version int64
	if json.Unmarshal(field(c.answer.Result, "protocolVersion"), &version) == nil {
		r.ProtocolVersion = &version
	}
	if name, ok := stringField(c.answer.Result, "agentInfo", "name"); ok {
		v, _ := stringField(c.answer.Result, "agentInfo", "version")
		r.Agent = &Peer{Name: short(name, 200), Version: short(v, 200)}
	}
	if caps := field(c.answer.Result, "agentCapabilities"); len(caps) <= shownFrame && utf8.Valid(caps) && !isDeep(caps) {
		r.Capabilities = bytes.Clone(caps) // not all of the frame
	}
}

// What a report shows of a frame, and of a conversation.
const (
	shownFrame   = 8 << 10 // bytes
	shownEntries = 12
)

// isDeep reports whether a value is nested so deep that readers of JSON give up on a report
// that has it: some at 256.
func isDeep(v json.RawMessage) bool {
	const most = 100
	depth, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// shown returns the entries as a report has them: no frame longer, or deeper, than it helps.
func shown(entries []transcript.Entry) []transcript.Entry {
	list := make([]transcript.Entry, 0, len(entries))
	for i, e := range entries {
		if i == shownEntries-1 && len(entries) > shownEntries {
			list = append(list, entries[len(entries)-1]) // the last one is what it led to
			break
		}
		if len(e.Frame) > shownFrame || isDeep(e.Frame) {
			e.Text, e.Bytes, e.Frame = short(string(e.Frame), shownFrame), int64(len(e.Frame)), nil
		}
		list = append(list, e)
	}
	return list
}
