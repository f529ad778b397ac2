package recipes

import (
	"context"
	"io"
	"log"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// hosted lets an agent work on the files of its directory, and run commands, through us,
// as far as a policy allows. Whatever the policy asks is put to decide, and everything is
// written to audit as it happens.
func hosted(cmd client.Command, policy []byte, decide func(permission.Facts) bool, audit io.Writer) (subagent.Provider, error) {
	rules, err := permission.ParseRules(policy)
	if err != nil {
		return nil, err
	}
	for _, warning := range rules.Warnings() {
		log.Print("the policy: ", warning)
	}
	rules.Ask = permission.Ask{Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
		answer := permission.Answer{QuestionID: q.ID}
		want := permission.Reject()
		if decide(q.Facts) {
			want = permission.Allow()
		}
		answer.OptionID = want.Decide(ctx, q.Request).OptionID
		return answer, nil
	}}
	return subagent.NewACP("coder", cmd, &subagent.ACPOptions{
		Permission: rules, Files: client.FilesWrite, Terminals: true, Audit: &subagent.Audit{W: audit},
	})
}
