package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/errand-acp/errand/permission"
)

// maxReply is how much a permission command may answer, in bytes.
const maxReply = 64 << 10

// commandReply is what a permission command writes to stdout: one JSON object, with either a
// decision or the id of an option, and a reason for the record if it likes. Nothing at
// all allows, once. The exit status must be 0; any other rejects, and of the reply only
// the reason counts.
type commandReply struct {
	// QuestionID, if it is there, has to be the id of the question.
	QuestionID *string `json:"questionId"`
	Decision   string  `json:"decision"` // "allow", once; "reject"; "cancel"
	OptionID   *string `json:"optionId"`
	Reason     string  `json:"reason"`
}

// parseReply reads a reply. A field that it does not know is refused, as it may be a
// condition that would not be heeded.
func parseReply(out []byte) (commandReply, error) {
	r := commandReply{}
	if len(bytes.TrimSpace(out)) == 0 {
		r.Decision = "allow"
		return r, nil
	}
	if err := json.Unmarshal(out, &r, json.RejectUnknownMembers(true)); err != nil {
		return commandReply{}, fmt.Errorf("its answer is not understood: stdout is to be empty, or one object: %s", replyError(err))
	}
	if (r.Decision == "") == (r.OptionID == nil) {
		return commandReply{}, errors.New("its answer has to have one of decision and optionId")
	}
	if r.OptionID != nil && *r.OptionID == "" {
		return commandReply{}, errors.New("its optionId is empty")
	}
	return r, nil
}

// replyError says what is wrong with the JSON of a reply, without Go's words for it.
func replyError(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return "there is no field " + strings.TrimPrefix(string(e.JSONPointer), "/")
	case ok && e.JSONPointer == "":
		return "it is none"
	case ok:
		return strings.TrimPrefix(string(e.JSONPointer), "/") + " has to be a string"
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// replySchema is the schema of what a permission command writes, if it writes something.
func replySchema() (*jsonschema.Schema, error) {
	s, err := schemaOf[commandReply]("What a permission command may write to its stdout; without a word of it, exit status 0 allows once")
	if err != nil {
		return nil, err
	}
	text := func(what string, values ...any) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: what, Enum: values}
	}
	s.Properties = map[string]*jsonschema.Schema{
		"questionId": text("The id of what was asked."),
		"decision":   text("allow selects an option that allows once.", "allow", "reject", "cancel"),
		"optionId":   text("The option to select, in place of a decision."),
		"reason":     text("For the record."),
	}
	one := 1
	s.Properties["optionId"].MinLength = &one
	s.Required, s.AdditionalProperties = nil, &jsonschema.Schema{Not: &jsonschema.Schema{}}
	s.OneOf = []*jsonschema.Schema{{Required: []string{"decision"}}, {Required: []string{"optionId"}}}
	return s, nil
}

// verdict is what a reply comes to.
type verdict struct {
	answer    permission.Answer
	ambiguous bool   // several options allow once
	failed    string // why there is no answer
	reason    string
}

// verdict makes an answer to q of the reply. An error rejects.
func (r commandReply) verdict(q permission.Question) (verdict, error) {
	v := verdict{answer: permission.Answer{QuestionID: q.ID}}
	if r.QuestionID != nil {
		v.answer.QuestionID = *r.QuestionID
	}
	switch r.Decision {
	case "":
		v.answer.OptionID = *r.OptionID
	case "allow":
		once := permission.Request{}
		for _, o := range q.Request.Options {
			if o.Kind == acp.PermissionOptionKindAllowOnce {
				once.Options = append(once.Options, o)
			}
		}
		d := permission.Allow().Decide(context.Background(), once)
		switch v.answer.OptionID = d.OptionID; {
		case d.Ambiguous:
			v.ambiguous = true
			return v, errors.New("several options allow it once; optionId says which is meant")
		case d.OptionID == "":
			return v, errors.New("no option allows it once")
		}
	case "reject":
		return v, errors.New("rejected")
	case "cancel":
	default:
		return v, fmt.Errorf("its decision %q is none of allow, reject, cancel", r.Decision)
	}
	return v, nil
}
