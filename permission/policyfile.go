package permission

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed policy.schema.json
var policySchema []byte

// PolicySchema returns the JSON Schema (draft 2020-12) of a policy file.
func PolicySchema() []byte { return slices.Clone(policySchema) }

// PolicyError is what is wrong with a policy file.
type PolicyError struct {
	// Rule is the rule, by number and name; empty outside the rules.
	Rule string
	// Field is the field, as a JSON path in the rule or the file: commands/0; empty
	// where the file is no JSON.
	Field string
	// Err is what is wrong there.
	Err error
}

func (e *PolicyError) Error() string {
	var where []string
	for _, s := range []string{e.Rule, e.Field} {
		if s != "" {
			where = append(where, s)
		}
	}
	return strings.Join(append(append([]string{"policy"}, where...), e.Err.Error()), ": ")
}

func (e *PolicyError) Unwrap() error { return e.Err }

// policyFile is Rules as a file has them.
type policyFile struct {
	Schema  string `json:"$schema"`
	Version int    `json:"version"`
	*Rules  `json:",inline"`
}

// ParseRules reads a policy file, which is JSON as PolicySchema has it. Unknown and
// repeated fields are refused, null in place of any, a file without rules (an empty list
// leaves all to the default), and what could not mean anything; the error is a
// *PolicyError. Ask is not in the file: the caller sets it.
func ParseRules(text []byte) (*Rules, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	file := policyFile{Version: 1, Rules: &Rules{}}
	if err := json.Unmarshal(text, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, syntaxError(file.Rules, text, err)
	}
	if at, what := unset(text); what != "" {
		return nil, placed(file.Rules, at, errors.New(what))
	}
	if file.Rules.Rules == nil {
		return nil, &PolicyError{Field: "rules", Err: errors.New("it is missing; [] leaves everything to the default")}
	}
	if file.Version != 1 {
		return nil, &PolicyError{Field: "version", Err: fmt.Errorf("%d is none that this program knows; it knows 1", file.Version)}
	}
	if err := file.Rules.Validate(); err != nil {
		return nil, err
	}
	return file.Rules, nil
}

// unset finds what is there and says nothing, which would decode as what is left out: a
// null, an effect without a letter.
func unset(text []byte) (at jsontext.Pointer, what string) {
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.ReadToken()
		if err != nil {
			return "", "" // the end: it has been decoded
		}
		switch at = d.StackPointer(); {
		case token.Kind() == 'n':
			return at, "it is null"
		case token.Kind() == '"' && token.String() == "" && isEffect(string(at)):
			return at, "it is empty; there is deny, ask and allow"
		}
	}
}

func isEffect(at string) bool {
	return at == "/default" || at == "/sensitive" || strings.HasPrefix(at, "/rules/") && strings.Count(at, "/") == 3 && strings.HasSuffix(at, "/effect")
}

// syntaxError says what is wrong with the text, and where.
func syntaxError(r *Rules, text []byte, err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		out := placed(r, e.JSONPointer, err)
		if errors.Is(err, json.ErrUnknownName) {
			out.Err = errors.New("there is no such field")
		} else {
			out.Err = wrongType(e, strings.HasPrefix(out.Field, "commands/"))
		}
		return out
	}
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &PolicyError{Err: err}
	}
	before := text[:min(int(e.ByteOffset), len(text))]
	what := strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		what, before = "it ends too early", text
	case errors.Is(err, jsontext.ErrDuplicateName):
		what = "it is there twice"
	}
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return placed(r, e.JSONPointer, fmt.Errorf("line %d, column %d: %s", bytes.Count(before, []byte("\n"))+1, column, what))
}

// wrongType says of what type a value is and has to be.
func wrongType(e *json.SemanticError, isCommand bool) error {
	is := map[jsontext.Kind]string{
		'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list",
	}[e.JSONKind]
	want := "an object"
	if e.GoType != nil {
		switch e.GoType.Kind() {
		case reflect.String:
			want = "a string"
		case reflect.Bool:
			want = "true or false"
		case reflect.Int:
			want = "a whole number"
		case reflect.Slice:
			want = "a list"
		}
	}
	if isCommand && want == "a list" {
		want = `a list of words, as ["go", "test", "**"]`
	}
	if e.JSONKind == '0' && want == "a whole number" {
		return errors.New("it has to be " + want)
	}
	return fmt.Errorf("it is %s, and has to be %s", is, want)
}

// placed is err with the rule and the field that it is about.
func placed(r *Rules, at jsontext.Pointer, err error) *PolicyError {
	out := &PolicyError{Field: strings.TrimPrefix(string(at), "/"), Err: err}
	if rest, ok := strings.CutPrefix(out.Field, "rules/"); ok {
		number, field, _ := strings.Cut(rest, "/")
		if i, err := strconv.Atoi(number); err == nil {
			out.Rule, out.Field = fmt.Sprintf("rule %d", i+1), field
			if i < len(r.Rules) {
				out.Rule = r.Rules[i].where(i)
			}
		}
	}
	return out
}

// where names a rule in an error.
func (r *Rule) where(i int) string {
	if r.Name == "" {
		return r.label(i)
	}
	return fmt.Sprintf("rule %d (%s)", i+1, r.Name)
}

// Validate reports the first thing in r that could not mean anything, as a *PolicyError.
// ParseRules has done it; it is for Rules made in Go.
func (r *Rules) Validate() error {
	for field, e := range map[string]Effect{"default": r.Default, "sensitive": r.Sensitive} {
		if e != "" && effectOf(e) != e && e != EffectDeny {
			return &PolicyError{Field: field, Err: badEffect(e)}
		}
	}
	names := map[string]bool{}
	for i := range r.Rules {
		rule := &r.Rules[i]
		if field, err := rule.validate(); err != nil {
			return &PolicyError{Rule: rule.where(i), Field: field, Err: err}
		}
		if names[rule.label(i)] {
			return &PolicyError{Rule: rule.where(i), Field: "name", Err: errors.New("another rule has it")}
		}
		names[rule.label(i)] = true
	}
	return nil
}

func badEffect(e Effect) error { return fmt.Errorf("%q is none of deny, ask, allow", string(e)) }

var toolKinds = []acp.ToolKind{
	acp.ToolKindRead, acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove, acp.ToolKindSearch,
	acp.ToolKindExecute, acp.ToolKindThink, acp.ToolKindFetch, acp.ToolKindSwitchMode, acp.ToolKindOther,
}

func (r *Rule) validate() (field string, err error) {
	switch {
	case r.Effect == "":
		return "effect", errors.New("it is missing; there is deny, ask and allow")
	case r.Effect != EffectAllow && r.Effect != EffectAsk && r.Effect != EffectDeny:
		return "effect", badEffect(r.Effect)
	case r.Always && r.Effect == EffectDeny:
		return "always", errors.New("a rule that denies grants nothing")
	case r.Always && r.HighRisk:
		return "always", errors.New("there is no standing grant for what is of high risk")
	case len(r.Kinds)+len(r.Tools)+len(r.Titles)+len(r.Paths)+len(r.Commands)+len(r.Hosts) == 0 && !r.Shell:
		return "", errors.New("it has no condition; what no rule speaks of is the default's")
	}
	// An empty list would be a condition that nothing meets.
	for name, empty := range map[string]bool{
		"kinds": r.Kinds != nil && len(r.Kinds) == 0, "tools": r.Tools != nil && len(r.Tools) == 0,
		"titles": r.Titles != nil && len(r.Titles) == 0, "paths": r.Paths != nil && len(r.Paths) == 0,
		"commands": r.Commands != nil && len(r.Commands) == 0, "hosts": r.Hosts != nil && len(r.Hosts) == 0,
	} {
		if empty {
			return name, errors.New("it is empty")
		}
	}
	for i, k := range r.Kinds {
		if !slices.Contains(toolKinds, k) {
			return fmt.Sprintf("kinds/%d", i), fmt.Errorf("%q is none of the kinds %v", string(k), toolKinds)
		}
	}
	for i, p := range r.Paths {
		if err := validPath(p); err != nil {
			return fmt.Sprintf("paths/%d", i), err
		}
	}
	for i, c := range r.Commands {
		if len(c) == 0 || c[0] == "" {
			return fmt.Sprintf("commands/%d", i), errors.New("there is no program in it")
		}
		if c[0] == "**" && len(c) > 1 {
			return fmt.Sprintf("commands/%d", i), errors.New("a program is one word: use *")
		}
		if strings.ContainsFunc(programOf(c)[0], unicode.IsSpace) {
			return fmt.Sprintf("commands/%d", i), fmt.Errorf(`%q is one word; each word is a string of its own, as ["go", "test"], and ? stands for a blank in a program's name`, programOf(c)[0])
		}
		if r.Effect != EffectAllow && assignment(c[0]) {
			return fmt.Sprintf("commands/%d", i), errors.New("a rule that denies or asks goes by the program, whatever variables stand before it")
		}
	}
	for i, h := range r.Hosts {
		if !hostPattern.MatchString(h) {
			return fmt.Sprintf("hosts/%d", i), fmt.Errorf("%q is no host, as example.com, *.example.com or ::1, without a port", h)
		}
	}
	return "", nil
}

// hostPattern is what can match a host: a name, all below one, an address, or any.
var hostPattern = regexp.MustCompile(`^(\*|(\*\.)?[\pL\pN_-]+(\.[\pL\pN_-]+)*|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)$`)

func validPath(p string) error {
	switch {
	case p == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(p, invisible):
		return errors.New("it holds invisible characters")
	case strings.ContainsFunc(p, decomposed):
		return errors.New("it holds decomposed characters; write them composed")
	case strings.ContainsRune(p, '\\'):
		return errors.New("its elements are separated by /, not by a backslash")
	case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
		return errors.New("only the own home directory, ~/, is known")
	case isFile(p) || strings.Contains(p, "://"):
		return errors.New("it is a path, and no URI")
	case runtime.GOOS != "windows" && drivePath.MatchString(p):
		return errors.New("it is a path of another system")
	case shellPrefix.MatchString(p):
		return errors.New("a variable stands for nothing here")
	case strings.HasPrefix(p, "!"):
		return errors.New("there is no negation; a name that begins with ! is ./!name")
	}
	for _, e := range split(filepath.ToSlash(p)) {
		switch {
		case e == "..":
			return errors.New("it holds a .. element")
		case strings.Contains(e, "**") && e != "**":
			return fmt.Errorf("** stands for whole elements, and not in %q", e)
		}
	}
	return nil
}

// Digest names the policy: the SHA-256, in hex, of what it says. Two that differ in
// anything but Ask have different ones.
func (r *Rules) Digest() string {
	return digestOf(r.Default, r.Sensitive, r.Choose, r.First, r.Rules)
}
