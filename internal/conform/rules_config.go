package conform

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

// configSet is one session/set_config_option.
type configSet struct {
	*call
	id, value string
	current   bool // it is the value that the option has
}

// configSets are those of the scene, and the answer that has shown the options. Else no says
// why there are none.
func (r *recording) configSets() (sets []configSet, created *call, no *outcome) {
	if created, no = r.result("new"); no != nil {
		return nil, nil, no
	}
	if r.needless(setConfig(1)) {
		o := untried("the session has no config options that can be set")
		return nil, nil, &o
	}
	if c, no := r.reply(setConfig(1)); c == nil {
		return nil, nil, no
	}
	for c := r.call(setConfig(1)); c != nil; c = r.call(setConfig(len(sets) + 1)) {
		set := configSet{call: c}
		set.id, _ = stringField(c.request.Params, "configId")
		set.value, _ = stringField(c.request.Params, "value")
		set.current = valueOf(created.answer.Result, set.id) == set.value
		sets = append(sets, set)
	}
	return sets, created, nil
}

// taken reports whether the answer says that the option was set.
func (s configSet) taken() bool { return s.answered && s.answer.Error == nil }

func judgeSetConfig(r *recording) outcome {
	sets, created, no := r.configSets()
	if no != nil {
		return *no
	}
	var taken, refused []transcript.Entry
	why := ""
	for _, set := range sets {
		entries := append(created.entries(), set.entries()...)
		switch {
		case !set.answered:
			return broken(set.why, entries...)
		case !set.taken():
			refused, why = append(refused, set.entries()...), errorText(set.answer.Error)
			continue
		}
		if wrong := set.wrong(created.answer.Result); wrong != "" {
			return broken(wrong, entries...)
		}
		taken = entries
	}
	if taken == nil {
		return brokenf(append(created.entries(), refused...), "no option could be set to any value, nor to the one that it has: %s", why)
	}
	return kept("it has all of them", taken...)
}

// wrong says what is wrong with the answer to an option that was set; shown are the options
// as they were.
func (s configSet) wrong(shown json.RawMessage) string {
	misfits := slices.DeleteFunc(configOptions.misfits("result", s.answer.Result), func(m misfit) bool { return m.unknown })
	if len(misfits) > 0 {
		return say(misfits)
	}
	needed := []string{s.id}
	if s.current { // else others may hang on the new value
		needed = configIDs(shown)
	}
	ids := configIDs(s.answer.Result)
	for _, id := range needed {
		if !slices.Contains(ids, id) {
			return fmt.Sprintf("the answer lacks the option %q", short(id, 60))
		}
	}
	if got := valueOf(s.answer.Result, s.id); got != s.value {
		return fmt.Sprintf("%q was set to %q, and by the answer it is %q", short(s.id, 60), short(s.value, 60), short(got, 60))
	}
	return ""
}

func judgeSetConfigValues(r *recording) outcome {
	sets, created, no := r.configSets()
	if no != nil {
		return *no
	}
	var refused, other *configSet // other: it was taken, and was another value
	some := false
	for _, set := range sets {
		switch {
		case set.taken():
			some = true
			if !set.current && valueOf(set.answer.Result, set.id) == set.value {
				other = &set
			}
		case set.answered && refused == nil:
			refused = &set
		}
	}
	switch {
	case !some:
		return untried("no option could be set at all")
	case refused != nil:
		return brokenf(append(created.entries(), refused.entries()...), "%q could not be set to %q, which it lists: %s", short(refused.id, 60), short(refused.value, 60), errorText(refused.answer.Error))
	case other == nil:
		return untried("no option was set to another value than it has")
	}
	return kept("one was set to another value", append(created.entries(), other.entries()...)...)
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

// configIDs are the ids of a result's config options, and valueOf is the current value of one;
// empty: it is not there.
func configIDs(result json.RawMessage) (ids []string) {
	for _, o := range elements(field(result, "configOptions")) {
		if id, ok := stringField(o, "id"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func valueOf(result json.RawMessage, id string) string {
	for _, o := range elements(field(result, "configOptions")) {
		if has, _ := stringField(o, "id"); has == id {
			value, _ := stringField(o, "currentValue")
			return value
		}
	}
	return ""
}
