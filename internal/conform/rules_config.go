package conform

import (
	"encoding/json"
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

func judgeSetConfig(r *recording) outcome {
	if r.needless("set-config") {
		return untried("the session has no config options that can be set")
	}
	created, no := r.result("new")
	if no != nil {
		return *no
	}
	labels := []string{"set-config"}
	if r.call("set-config-back") != nil {
		labels = append(labels, "set-config-back")
	}
	var entries []transcript.Entry
	for i, label := range labels {
		c, no := r.reply(label)
		if c == nil {
			return *no
		}
		last := i == len(labels)-1
		entries = append(created.entries(), c.entries()...)
		switch {
		case no != nil:
			return broken(c.why, entries...)
		case c.answer.Error != nil && !last:
			continue // a value that is not to be had may be shown, and none of all is lost
		case c.answer.Error != nil:
			return brokenf(entries, "an option that the session has could not be set to the value that it has: %s", errorText(c.answer.Error))
		}
		wrong := slices.DeleteFunc(configOptions.misfits("result", c.answer.Result), func(m misfit) bool { return m.unknown })
		if len(wrong) > 0 {
			return broken(say(wrong), entries...)
		}
		options := elements(field(c.answer.Result, "configOptions"))
		set, _ := stringField(c.request.Params, "configId")
		want, _ := stringField(c.request.Params, "value")
		for _, option := range options {
			id, _ := stringField(option, "id")
			if got, _ := stringField(option, "currentValue"); id == set && got != want {
				return brokenf(entries, "%q was set to %q, and by the answer it is %q", short(id, 60), short(want, 60), short(got, 60))
			}
		}
		if !last {
			continue // which options there are may hang on the value of one
		}
		ids := configIDs(options)
		for _, id := range configIDs(elements(field(created.answer.Result, "configOptions"))) {
			if !slices.Contains(ids, id) {
				return brokenf(entries, "the answer lacks the option %q", short(id, 60))
			}
		}
	}
	return kept("it has all of them", entries...)
}

// judgeConfig is shapedWith for config options, which also stand in the answers that begin
// a session.
func judgeConfig(r *recording) outcome {
	var shown []transcript.Entry
	for _, m := range r.marks {
		c := r.find(m.label)
		if c == nil || !c.answered || !slices.Contains([]string{"session/new", "session/load", "session/resume"}, c.method) {
			continue
		}
		options := field(c.answer.Result, "configOptions")
		if options == nil || isNull(options) {
			continue
		}
		wrong := slices.DeleteFunc(list(configOption).misfits("configOptions", options), func(m misfit) bool { return m.unknown })
		if len(wrong) > 0 {
			return broken("in the answer to "+c.method+", "+say(wrong), c.entries()...)
		}
		if hasSomething(options) {
			shown = append(shown, c.entries()...)
		}
	}
	o := shapedWith([]string{"configOptions"}, "config_option_update")(r)
	switch {
	case o.verdict == NotApplicable && shown != nil:
		return kept("in the answers that begin a session they are of their shape", shown...)
	case o.verdict == Pass:
		o.entries = append(shown, o.entries...)
	}
	return o
}

func configIDs(options []json.RawMessage) []string {
	var ids []string
	for _, o := range options {
		if id, ok := stringField(o, "id"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
