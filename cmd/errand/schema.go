package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/conform"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// schemas are the documents that have a JSON Schema, by name.
var schemas = map[string]func() ([]byte, error){
	"result": func() ([]byte, error) { return schemaText(schemaOf[subagent.Result]("The result of a run")) },
	"audit":  func() ([]byte, error) { return schemaText(auditSchema()) },
	"fan":    func() ([]byte, error) { return schemaText(schemaOf[fanReport]("The results of errand fan")) },
	"event": func() ([]byte, error) {
		return schemaText(eventSchema[subagent.Event]("An event of a run: a line of errand run --events"))
	},
	"request": func() ([]byte, error) { return schemaText(schemaOf[subagent.Request]("A task for an agent")) },
	"policy":  func() ([]byte, error) { return permission.PolicySchema(), nil },
	"check":   func() ([]byte, error) { return schemaText(schemaOf[conform.Report]("What errand check found")) },
	"permission": func() ([]byte, error) {
		return schemaText(schemaOf[permission.Question]("What a permission command reads from its stdin"))
	},
	"fan-event":        func() ([]byte, error) { return schemaText(fanEventSchema()) },
	"transcript":       func() ([]byte, error) { return schemaText(transcriptSchema()) },
	"permission-reply": func() ([]byte, error) { return schemaText(replySchema()) },
}

func schemaNames() []string { return slices.Sorted(maps.Keys(schemas)) }

func newSchema(con *console) *cobra.Command {
	names := schemaNames()
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a result, an event, an audit line, a transcript, a policy or a request",
		Long: `Schema prints a JSON Schema (draft 2020-12), or without a NAME the names there are:
  ` + strings.Join(names, "\n  ") + `
Result is what --json prints, event a line of --events and audit one of --audit; fan is
what errand fan --json prints, with results in it, fan-event a line of its --events and of
its journal; transcript is a line of --transcript; check is what errand check --json
prints; policy is the file of --policy, permission what the program of
--permission-command reads and permission-reply what it may write; request is the
library's, subagent.Request, which errand neither reads nor prints. Fields may be added
to these documents and none is renamed or removed. What is printed may have more fields
than its schema names, a policy and a permission-reply may not: neither must mean less than
it says.`,
		Example: "  errand schema result",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && schemas[args[0]] == nil {
				return fmt.Errorf("schema takes one name: %s", strings.Join(names, ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprintln(con.out, strings.Join(names, "\n"))
				return err
			}
			text, err := schemas[args[0]]()
			if err != nil {
				return err
			}
			_, err = con.out.Write(text)
			return err
		},
	}
}

// schemaText is how a schema is printed.
func schemaText(s *jsonschema.Schema, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// nullable names the lists and maps that are null where they do not apply; all
// others are there, if empty. A pointer says so by its type.
var nullable = []string{"meta", "plan", "files", "commands", "changes", "attempts", "diffs"}

func schemaOf[T any](title string) (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():       {},
		reflect.TypeFor[time.Time]():             {Type: "string", Format: "date-time"},
		reflect.TypeFor[acp.ToolCallUpdate]():    {Type: "object", Required: []string{"toolCallId"}, Description: "The protocol's ToolCallUpdate."},
		reflect.TypeFor[acp.ContentBlock]():      {Type: "object", Required: []string{"type"}},
		reflect.TypeFor[stopreason.Outcome]():    enum(stops),
		reflect.TypeFor[client.ErrorKind]():      enum(errorKinds),
		reflect.TypeFor[client.Step]():           enum(steps),
		reflect.TypeFor[client.Rung]():           enum(rungs),
		reflect.TypeFor[permission.Outcome]():    enum(decisions),
		reflect.TypeFor[subagent.EventType]():    enum(eventTypes),
		reflect.TypeFor[subagent.ChangeStatus](): enum(changes),
		reflect.TypeFor[subagent.AuditType]():    enum(auditTypes),
		reflect.TypeFor[func(subagent.Event)]():  {},
		reflect.TypeFor[conform.Level]():         enum(levels),
		reflect.TypeFor[conform.Verdict]():       enum(verdicts),
		reflect.TypeFor[transcript.Entry]():      {Type: "object", Description: "A line of a transcript: ms, from, and a frame or a text, or the end."},
	}})
	if err != nil {
		return nil, err
	}
	loosen("", s)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = title
	return s, nil
}

// loosen allows fields that are not named, and null where it may stand and nowhere
// else, in s, which is the schema of the field called name, and in all below it.
func loosen(name string, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	switch isNullable := slices.Contains(nullable, name); {
	case s.Items != nil && !isNullable:
		s.Type, s.Types = "array", nil
	case s.Type == "object" && isNullable:
		s.Type, s.Types = "", []string{"null", "object"}
	}
	loosen("", s.Items)
	for name, p := range s.Properties {
		loosen(name, p)
	}
}

// eventSchema is that of E, which is an event, or has one embedded.
func eventSchema[E any](title string) (*jsonschema.Schema, error) {
	s, err := schemaOf[E](title)
	if err != nil {
		return nil, err
	}
	for _, e := range []struct {
		kind  subagent.EventType
		field string
	}{
		{subagent.EventStart, "start"}, {subagent.EventUpdate, "update"}, {subagent.EventPermission, "permission"},
		{subagent.EventWarning, "warning"}, {subagent.EventEnd, "result"},
	} {
		hasField(s, e.kind, e.field)
	}
	return s, nil
}

// fanEventSchema is that of an event, or of the totals, which are told apart by their type.
func fanEventSchema() (*jsonschema.Schema, error) {
	event, err := eventSchema[fanEvent]("An event of a run")
	if err != nil {
		return nil, err
	}
	totals, err := schemaOf[fanTotals]("The last line")
	if err != nil {
		return nil, err
	}
	is := any(totalsType)
	totals.Properties["type"].Const = &is
	s := &jsonschema.Schema{
		Schema: event.Schema, Title: "A line of errand fan --events", Type: "object",
		If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: &is}}},
		Then: totals, Else: event,
	}
	event.Schema, totals.Schema = "", ""
	return s, nil
}

func auditSchema() (*jsonschema.Schema, error) {
	s, err := schemaOf[subagent.AuditRecord]("A line of errand run --audit")
	if err != nil {
		return nil, err
	}
	for _, kind := range auditTypes {
		hasField(s, kind, string(kind))
	}
	return s, nil
}

// hasField says that a record of that type has a field of its own.
func hasField[T ~string](s *jsonschema.Schema, kind T, field string) {
	value := any(kind)
	s.AllOf = append(s.AllOf, &jsonschema.Schema{
		If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: &value}}},
		Then: &jsonschema.Schema{Required: []string{field}},
	})
}

func enum[T ~string](values []T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// What the contract's words can be. A test holds them against the constants.
var (
	stops = []stopreason.Outcome{
		stopreason.Completed, stopreason.MaxTokens, stopreason.Refusal, stopreason.Aborted, stopreason.Error,
	}
	errorKinds = []client.ErrorKind{
		client.KindConfig, client.KindCapability, client.KindLimit, client.KindSpawn, client.KindStartupTimeout,
		client.KindIdleTimeout, client.KindTimeout, client.KindExit, client.KindTransport, client.KindProtocol,
		client.KindVersion, client.KindAuthRequired, client.KindAgent, client.KindRemoteLimit, client.KindTooLarge,
		client.KindSchema, client.KindSessionLost, client.KindLeftover,
	}
	steps = []client.Step{
		client.StepConfig, client.StepSpawn, client.StepInitialize, client.StepAuthenticate, client.StepNewSession,
		client.StepPrompt, client.StepShutdown,
	}
	rungs = []client.Rung{
		client.RungExit, client.RungCancel, client.RungClose, client.RungEOF, client.RungTerm, client.RungKill, client.RungNone,
	}
	decisions  = []permission.Outcome{permission.Allowed, permission.Denied, permission.Cancelled}
	auditTypes = []subagent.AuditType{
		subagent.AuditTypeStart, subagent.AuditTypePermission, subagent.AuditTypeToolCall, subagent.AuditTypeFile,
		subagent.AuditTypeCommand, subagent.AuditTypeEnd,
	}
	levels   = []conform.Level{conform.Must, conform.Should, conform.Manners}
	verdicts = []conform.Verdict{conform.Pass, conform.Fail, conform.Warn, conform.NotApplicable}
	changes  = []subagent.ChangeStatus{
		subagent.ChangeAdded, subagent.ChangeModified, subagent.ChangeDeleted, subagent.ChangeRenamed, subagent.ChangeTypeChanged,
	}
	eventTypes = []subagent.EventType{
		subagent.EventStart, subagent.EventUpdate, subagent.EventPermission, subagent.EventWarning, subagent.EventEnd,
	}
)
