package conform

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	ruleID   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	binding  = regexp.MustCompile(`\b(MUST|SHALL|REQUIRED|required)\b`)
	wishing  = regexp.MustCompile(`\b(SHOULD|RECOMMENDED)\b`)
	inSchema = regexp.MustCompile(`^schema\.json \$defs/[A-Za-z]+(/properties/[A-Za-z_]+)*$`)
)

// Every rule says what it demands, in whose words, and where they stand.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			if !ruleID.MatchString(r.ID) || seen[r.ID] {
				t.Errorf("%q is no id, or one that there is already", r.ID)
			}
			seen[r.ID] = true
			if r.Title == "" || r.Quote == "" || r.judge == nil {
				t.Error("it has no title, no quote or no judge")
			}
			switch r.Level {
			case Must:
				// The schema's types and required members bind as the word does.
				if !binding.MatchString(r.Quote) && !strings.Contains(r.Quote, `"type"`) && !strings.HasPrefix(r.Source, "schema.json") {
					t.Errorf("it is a MUST, and its text does not say so: %s", r.Quote)
				}
			case Should:
				if !wishing.MatchString(r.Quote) && !strings.Contains(r.Quote, "MAY") {
					t.Errorf("it is a SHOULD, and its text does not say so: %s", r.Quote)
				}
			case Manners:
			default:
				t.Errorf("there is no level %q", r.Level)
			}
			if r.Source == "" && r.Level != Manners {
				t.Error("it does not say where its text stands")
			}
			if u, err := url.Parse(r.Source); r.Source != "" && !inSchema.MatchString(r.Source) && (err != nil || u.Scheme != "https" || u.Host == "") {
				t.Errorf("%q is neither an address nor a place in schema.json", r.Source)
			}
			for _, name := range r.scenes {
				if !slices.ContainsFunc(scenes, func(s scene) bool { return s.name == name }) {
					t.Errorf("there is no scene %q", name)
				}
			}
		})
	}
}

// A rule that judges nothing passes nothing.
func TestNothingPassesNothing(t *testing.T) {
	for _, r := range Rules() {
		for _, rec := range []*recording{{scene: "empty"}, {scene: "stopped", stopped: "it was not played"}} {
			o := r.judge(rec)
			if o.verdict != NotApplicable || o.why == "" {
				t.Errorf("%s: %s %q of a recording without anything in it", r.ID, o.verdict, o.why)
			}
		}
	}
}

// Each scene is looked at by some rule, and says what happens in it.
func TestScenes(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenes {
		if s.name == "" || s.about == "" || seen[s.name] {
			t.Errorf("the scene %q has no name of its own, or does not say what it is about", s.name)
		}
		seen[s.name] = true
		if !slices.ContainsFunc(Rules(), func(r Rule) bool { return slices.Contains(r.scenes, s.name) }) {
			t.Errorf("no rule looks at the scene %q", s.name)
		}
	}
}
