package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json"

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
		return commandReply{}, fmt.Errorf("its answer is not understood: %w", err)
	}
	if (r.Decision == "") == (r.OptionID == nil) {
		return commandReply{}, errors.New("its answer has to have one of decision and optionId")
	}
	if r.OptionID != nil && *r.OptionID == "" {
		return commandReply{}, errors.New("its optionId is empty")
	}
	return r, nil
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
